import { playStep, scripted } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

const task = { mode: 'task' } as const;

describe.each(profiles())('$name: a task', (profile) => {
  const stack = useStack(profile);

  async function refusal(sessionId: string, onBusy: string): Promise<string> {
    const path = `/v1/sessions/${sessionId}/turns`;
    const { status, body } = await stack.api.call('POST', path, { text: 'More.', onBusy });
    return `${status} ${body.code} ${body.state}`;
  }

  test('is over with its first completed turn, and takes no other', async () => {
    const scene = await stack.scene(playStep('Done.'), task);
    const stream = await scene.ask('Do it.');
    expect(stream.types.at(-1)).toBe('done');
    expect((await stack.api.session(scene.sessionId)).state).toBe('COMPLETED');
    for (const onBusy of ['enqueue', 'reject', 'interrupt', 'rollback']) {
      expect(await refusal(scene.sessionId, onBusy)).toBe('409 session_terminal COMPLETED');
    }
    const resumed = await stack.api.resume(scene.sessionId);
    expect([resumed.status, resumed.body.code]).toEqual([409, 'session_not_waiting']);
    expect((await stack.api.cancelSession(scene.sessionId)).state).toBe('COMPLETED');
    expect(await stack.api.messages(scene.sessionId)).toHaveLength(2);
  });

  test('ends its queued turns with it, each told once', async () => {
    const scene = await stack.scene(playStep(pieces(30, 10)), task);
    const stream = await scene.say('Do it.');
    await stream.until('turn.delta');
    const queued = [await scene.say('And that.'), await scene.say('And this.')];
    await Promise.all([stream, ...queued].map((one) => one.over()));
    expect(stream.types.at(-1)).toBe('done');
    for (const one of queued) {
      expect(one.types).toEqual(['turn.queued', 'cancelled']);
      expect(one.events[1]?.data.reason).toBe('session_ended');
    }
    expect((await stack.api.session(scene.sessionId)).state).toBe('COMPLETED');
    expect(scene.requests).toHaveLength(1);
  });

  test('that fails is FAILED, that is cancelled is CANCELLED', async () => {
    const failing = await stack.scene(playStep({ status: 400 }), task);
    await failing.ask('Do it.');
    expect((await stack.api.session(failing.sessionId)).state).toBe('FAILED');
    expect(await refusal(failing.sessionId, 'enqueue')).toBe('409 session_terminal FAILED');
    const cancelled = await stack.scene(playStep(pieces(500, 10)), task);
    const stream = await cancelled.say('Do it.');
    await stream.until('turn.delta');
    await stack.api.cancelSession(cancelled.sessionId);
    await stream.over();
    expect((await stack.api.session(cancelled.sessionId)).state).toBe('CANCELLED');
    expect(await refusal(cancelled.sessionId, 'enqueue')).toBe('409 session_terminal CANCELLED');
  });

  test('stays open over a cancel by onBusy, and of a queued turn', async () => {
    const scene = await stack.scene(scripted([pieces(500, 10), { delayMs: 200, text: 'Done.' }]), task);
    const first = await scene.say('Do it.');
    await first.until('turn.delta');
    const queued = await stack.api.postTurn(scene.sessionId, { text: 'Later.' });
    await stack.api.cancelTurn(queued.id);
    expect((await stack.api.session(scene.sessionId)).state).toBe('RUNNING');
    const second = await scene.ask({ text: 'Rather this.', onBusy: 'interrupt' });
    expect(second.text).toBe('Done.');
    expect((await stack.api.session(scene.sessionId)).state).toBe('COMPLETED');
  });

  test('waits for a person and is completed after', async () => {
    const tool = await stack.tool(() => 'sent');
    const settings = { ...task, tools: [tool], approval: { tools: [tool] } };
    const scene = await stack.scene(callsThen([{ name: tool }], 'Sent.'), settings);
    const stream = await scene.ask('Send.');
    expect(stream.types.at(-1)).toBe('interrupt');
    expect((await stack.api.session(scene.sessionId)).state).toBe('WAITING');
    await stack.api.resume(scene.sessionId);
    await stack.api.reaches(scene.sessionId, 'COMPLETED');
  });
});

describe.each(profiles())('$name: the budgets of a turn', (profile) => {
  const stack = useStack(profile);

  test('are steps: after the last one it fails, with a history that is whole', async () => {
    const tool = await stack.tool(({ arguments: { n } }) => n);
    let n = 0;
    const handler = scripted(
      Array.from({ length: 8 }, () => (_call, reply) => {
        n += 1;
        return reply.toolCall({ name: tool, arguments: { n } });
      }),
    );
    const scene = await stack.scene(handler, { tools: [tool], maxSteps: 3 });
    const stream = await scene.ask('Go on for ever.');
    expect(stream.events.at(-1)).toMatchObject({ type: 'error', data: { code: 'max_steps' } });
    expect(scene.requests).toHaveLength(3);
    expect(stack.runsOf(tool)).toHaveLength(3);
    const turn = await stack.api.turn(stream.events[0]?.data.turnId);
    expect(turn).toMatchObject({ status: 'FAILED', steps: 3, error: { code: 'max_steps' } });
    expect((await stack.api.session(scene.sessionId)).state).toBe('IDLE');
    const [first, , last] = scene.requests.map(({ body }) => String(body.messages[0]?.content));
    expect(last).not.toBe(first); // it was told that this was the last
    const again = await scene.ask('Again.');
    expect(again.types.at(-1)).toBe('error');
  });

  test('are its time, of which waiting for a person is none', async () => {
    const hang = await stack.scene(playStep({ text: 'Well, ', ending: 'hang' }), { turnTimeoutMs: 400 });
    const stream = await hang.ask('Go.');
    expect(stream.events.at(-1)).toMatchObject({ type: 'error', data: { code: 'turn_timeout' } });
    expect(hang.requests[0]?.state).toBe('aborted');
    const messages = await stack.api.messages(hang.sessionId);
    expect(messages[1]).toMatchObject({ content: 'Well, ', status: 'partial' });

    const tool = await stack.tool(() => 'sent');
    const settings = { tools: [tool], approval: { tools: [tool] }, turnTimeoutMs: 700 };
    const patient = await stack.scene(callsThen([{ name: tool }], 'Sent.'), settings);
    await patient.ask('Send.');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const resumed = await stack.turnwire.stream(`/v1/sessions/${patient.sessionId}/resume`, { method: 'POST' });
    expect((await resumed.over()).types.at(-1)).toBe('done');
  });
});
