import { setTimeout as sleep } from 'node:timers/promises';
import { messageText } from '@turnwire/demo-model/chat-request';
import { byConversation } from '@turnwire/demo-model/script';
import { sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { turnSchema } from '@turnwire/shared/contracts/http-turns';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import type { AgentInput } from '../stack/api.ts';
import type { EventStream } from '../stack/event-stream.ts';
import { type FlowStack, type Scene, useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

interface Waiting extends Scene {
  readonly tool: string;
  readonly stream: EventStream;
  readonly turnId: string;
  readonly interruptId: string;
}

/** A turn that asks for two calls `call_a` and `call_b` of one tool, and waits for a person. */
async function waitingScene(
  stack: FlowStack,
  approval: NonNullable<AgentInput['approval']> = {},
  settings: AgentInput = {},
): Promise<Waiting> {
  const tool = await stack.tool(({ arguments: { to } }) => ({ sent: to }));
  const calls = [
    { name: tool, arguments: { to: 'ann' } },
    { name: tool, arguments: { to: 'bob' } },
  ];
  const handler = callsThen(
    calls.map((call, i) => ({ ...call, id: `call_${'ab'[i]}` })),
    pieces(5, 10),
  );
  const scene = await stack.scene(handler, { tools: [tool], approval: { tools: [tool], ...approval }, ...settings });
  const stream = await scene.ask('Send both.');
  const { turnId, interruptId } = (await stream.until('interrupt')).data;
  // A getter would be copied as its value.
  return {
    ...scene,
    get requests() {
      return scene.requests;
    },
    tool,
    stream,
    turnId,
    interruptId,
  };
}

/** What the model was told of the calls. */
function resultsOf({ requests }: Waiting): readonly string[] {
  const messages = requests.at(-1)?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(messageText);
}

const resumePath = ({ sessionId }: Scene) => `/v1/sessions/${sessionId}/resume`;

describe.each(profiles())('$name: an approval', (profile) => {
  const stack = useStack(profile);

  test('stops the turn before any call of the step runs, and says what there is to decide', async () => {
    const free = await stack.tool(() => 'free');
    const guarded = await stack.tool(() => 'guarded');
    const calls = [
      { id: 'f', name: free },
      { id: 'g', name: guarded, arguments: { a: [1] } },
    ];
    const scene = await stack.scene(callsThen(calls, 'Done.'), {
      tools: [free, guarded],
      approval: { tools: [guarded] },
    });
    const stream = await scene.ask('Go.');
    expect(stream.end).toBe('server');
    const asked = [{ id: 'g', name: guarded, arguments: { a: [1] } }];
    const { data } = await stream.until('interrupt');
    expect(data).toMatchObject({ reason: 'tool_approval', beforeNodes: ['tools'], toolCalls: asked });
    const session = await stack.api.session(scene.sessionId);
    expect(session).toMatchObject({
      state: 'WAITING',
      activeTurnId: data.turnId,
      interrupt: { id: data.interruptId, reason: 'tool_approval', turnId: data.turnId, toolCalls: asked },
    });
    expect(session.interrupt?.expiresAt).toBe(data.expiresAt);
    expect(Date.parse(data.expiresAt) - data.ts).toBe(86_400_000);
    expect((await stack.api.turn(data.turnId)).status).toBe('WAITING');
    await sleep(300);
    expect([...stack.runsOf(free), ...stack.runsOf(guarded)]).toEqual([]);
    expect((await stack.api.resume(scene.sessionId)).status).toBe(202);
    expect((await stack.api.ended(data.turnId)).status).toBe('COMPLETED');
    expect([stack.runsOf(free).length, stack.runsOf(guarded).length]).toEqual([1, 1]);
  });

  test('by an empty body lets all calls run, streamed from turn.resumed to the end', async () => {
    const scene = await waitingScene(stack);
    const before = performance.now();
    const stream = await stack.turnwire.stream(resumePath(scene), { method: 'POST' });
    await stream.until('turn.resumed');
    expect(performance.now() - before).toBeLessThan(1000); // by a wake-up, not by the sweep
    await stream.over();
    expect(stream.types[0]).toBe('turn.resumed');
    expect(stream.events[0]?.data.decisions).toEqual({ call_a: { action: 'approve' }, call_b: { action: 'approve' } });
    expect(stream.of('tool.result').map(({ data }) => data.ok)).toEqual([true, true]);
    expect(stream.of('turn.delta').map(({ data }) => data.step)).toEqual(Array(5).fill(2));
    expect(stream.types.at(-1)).toBe('done');
    expect(stream.ids[0]).toBeGreaterThan(scene.stream.ids.at(-1) ?? 0);
    const turn = await stack.api.turn(scene.turnId);
    expect(turn).toMatchObject({ status: 'COMPLETED', attempt: 1, steps: 2 });
    expect(stack.runsOf(scene.tool)).toHaveLength(2);
  });

  test.each([
    ['approve all', { action: 'approve' as const }, ['{"sent":"ann"}', '{"sent":"bob"}'], ['ann', 'bob']],
    ['reject all', { action: 'reject' as const, reason: 'Too late.' }, ['Too late.', 'Too late.'], []],
    [
      'approve one, reject one',
      {
        decisions: {
          call_b: { action: 'reject' as const, reason: 'Not Bob.' },
          call_a: { action: 'approve' as const },
        },
      },
      ['{"sent":"ann"}', 'Not Bob.'],
      ['ann'],
    ],
    [
      'edit one, answer for the other',
      {
        decisions: {
          call_a: { action: 'edit' as const, arguments: { to: 'eve' } },
          call_b: { action: 'respond' as const, result: { sent: 'by hand' } },
        },
      },
      ['{"sent":"eve"}', '{"sent":"by hand"}'],
      ['eve'],
    ],
    [
      'decide one, and all others',
      { action: 'approve' as const, decisions: { call_a: { action: 'reject' as const } } },
      ['rejected', '{"sent":"bob"}'],
      ['bob'],
    ],
  ])('to %s is carried out, and the model knows', async (_name, body, told, sentTo) => {
    const scene = await waitingScene(stack);
    const { status, body: turn } = await stack.api.resume(scene.sessionId, body);
    expect(status).toBe(202);
    expect(turnSchema.parse(turn).id).toBe(scene.turnId);
    expect((await stack.api.ended(scene.turnId)).status).toBe('COMPLETED');
    const runs = stack.runsOf(scene.tool);
    expect(runs.map((run) => run.arguments.to).sort()).toEqual(sentTo);
    const results = resultsOf(scene);
    expect(results).toHaveLength(2);
    for (const [i, part] of told.entries()) expect(results[i]).toContain(part);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(2);
  });

  test('edited into arguments that are wrong fails that call alone', async () => {
    const parameters = { type: 'object', properties: { to: { type: 'string' } } };
    const tool = await stack.tool(() => 'sent', { parameters });
    const calls = [{ id: 'x', name: tool, arguments: { to: 'ann' } }];
    const scene = await stack.scene(callsThen(calls, 'Sorry.'), { tools: [tool], approval: { tools: ['*'] } });
    await scene.ask('Send.');
    const decisions = { x: { action: 'edit' as const, arguments: { to: 7 } } };
    const stream = await stack.turnwire.stream(resumePath(scene), { method: 'POST', body: { decisions } });
    await stream.over();
    expect(stream.of('tool.result')[0]?.data).toMatchObject({ ok: false, result: expect.stringContaining('to') });
    expect(stack.runsOf(tool)).toEqual([]);
    expect(stream.types.at(-1)).toBe('done');
  });

  test('in parts keeps the session waiting until the last one, whatever Accept says', async () => {
    const scene = await waitingScene(stack);
    const accept = { accept: 'text/event-stream' };
    const first = await stack.api.resume(scene.sessionId, { decisions: { call_b: { action: 'approve' } } }, accept);
    expect(first.status).toBe(200);
    expect(sessionSchema.parse(first.body)).toMatchObject({ state: 'WAITING', interrupt: { id: scene.interruptId } });
    // The same again is no conflict, another one is.
    const same = await stack.api.resume(scene.sessionId, { decisions: { call_b: { action: 'approve' } } });
    expect([same.status, same.body.state]).toEqual([200, 'WAITING']);
    const other = await stack.api.resume(scene.sessionId, { decisions: { call_b: { action: 'reject' } } });
    expect([other.status, other.body.code, other.body.toolCallId]).toEqual([409, 'decision_conflict', 'call_b']);
    await sleep(200);
    expect(stack.runsOf(scene.tool)).toEqual([]);
    expect(scene.requests).toHaveLength(1);
    // An action alone is for what is open, and does not touch what was decided.
    const rest = await stack.api.resume(scene.sessionId, { action: 'reject', reason: 'No.' });
    expect(rest.status).toBe(202);
    await stack.api.ended(scene.turnId);
    expect(stack.runsOf(scene.tool).map((run) => run.arguments.to)).toEqual(['bob']);
    expect(resultsOf(scene)[0]).toContain('No.');
  });

  test('that is stale, too late, or about something else changes nothing', async () => {
    const scene = await waitingScene(stack);
    const refusals = [
      await stack.api.resume(scene.sessionId, { interruptId: 'int_0' }),
      await stack.api.resume(scene.sessionId, { decisions: { call_z: { action: 'approve' } } }),
      await stack.api.resume(scene.sessionId, { text: 'Go on.' }),
    ];
    const codes = refusals.map(({ status, body }) => `${status} ${body.code}`);
    expect(codes).toEqual(['409 interrupt_stale', '409 interrupt_stale', '422 invalid_request']);
    expect((await stack.api.session(scene.sessionId)).interrupt?.id).toBe(scene.interruptId);
    await stack.api.resume(scene.sessionId, { interruptId: scene.interruptId, action: 'reject' });
    await stack.api.ended(scene.turnId);
    await stack.api.reaches(scene.sessionId, 'IDLE');
    const late = await stack.api.resume(scene.sessionId, { action: 'approve' });
    expect([late.status, late.body.code, late.body.state]).toEqual([409, 'session_not_waiting', 'IDLE']);
    await sleep(200);
    expect(stack.runsOf(scene.tool)).toEqual([]);
  });

  test('given 20 times at once is taken once', async () => {
    const scene = await waitingScene(stack);
    const answers = await Promise.all(Array.from({ length: 20 }, () => stack.api.resume(scene.sessionId)));
    const codes = answers.map(({ status, body }) => (status === 202 ? 'taken' : body.code));
    expect(codes.filter((code) => code === 'taken')).toHaveLength(1);
    expect(codes.filter((code) => code === 'session_not_waiting')).toHaveLength(19);
    await stack.api.ended(scene.turnId);
    expect(stack.runsOf(scene.tool)).toHaveLength(2);
  });

  test('in each of two steps is asked for in turn, and the earlier decision is not forgotten', async () => {
    const tool = await stack.tool(({ arguments: { n } }) => n);
    const answered = (n: number) => ({ toolCalls: [{ name: tool, arguments: { n } }] });
    const handler = byConversation((messages) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      return results === 2 ? 'Both.' : answered(results + 1);
    });
    const scene = await stack.scene(handler, { tools: [tool], approval: { tools: [tool] } });
    await scene.ask('Go.');
    const second = await stack.turnwire.stream(resumePath(scene), { method: 'POST' });
    await second.over();
    expect(second.types.at(-1)).toBe('interrupt');
    const third = await stack.turnwire.stream(resumePath(scene), { method: 'POST' });
    await third.over();
    expect(third.types.at(-1)).toBe('done');
    expect(Object.keys(third.events[0]?.data.decisions)).toHaveLength(1);
    expect(stack.runsOf(tool).map((run) => run.arguments.n)).toEqual([1, 2]);
  });

  test.each([
    ['reject', 'COMPLETED', 'done'],
    ['cancel', 'CANCELLED', 'cancelled'],
    ['fail', 'FAILED', 'error'],
  ] as const)('that nobody gives in time is settled as onExpire says: %s', async (onExpire, status, terminal) => {
    const scene = await waitingScene(stack, { ttlSeconds: 1, onExpire });
    const follower = stack.turnwire.follow(scene.sessionId);
    const partial = await stack.api.resume(scene.sessionId, { decisions: { call_a: { action: 'approve' } } });
    expect(partial.status).toBe(200);
    const turn = await stack.api.ended(scene.turnId);
    expect(turn.status).toBe(status);
    const { data } = await follower.until(({ type }) => type === terminal);
    follower.close();
    const late = await stack.api.resume(scene.sessionId);
    expect([late.status, late.body.code]).toEqual([409, 'session_not_waiting']);
    const sent = stack.runsOf(scene.tool).map((run) => run.arguments.to);
    if (onExpire === 'reject') {
      // Decided calls stand, undecided ones are rejected.
      expect(sent).toEqual(['ann']);
      expect(resultsOf(scene)[1]).toContain('expired');
      return;
    }
    expect(sent).toEqual([]);
    expect(scene.requests).toHaveLength(1);
    if (onExpire === 'cancel') expect(data.reason).toBe('approval_expired');
    else expect(turn.error?.code).toBe('interrupt_expired');
    // The history is whole: the next turn works.
    expect((await scene.ask('Send again.')).types.at(-1)).toBe('interrupt');
  });

  test('that expired is refused before anybody has settled it', async () => {
    const slow = await waitingScene(stack, { ttlSeconds: 3, onExpire: 'cancel' });
    await sleep(Date.parse((await stack.api.session(slow.sessionId)).interrupt?.expiresAt ?? '') - Date.now() + 2);
    const late = await stack.api.resume(slow.sessionId);
    expect(late.status).toBe(409);
    expect(['interrupt_expired', 'session_not_waiting']).toContain(late.body.code);
    await stack.api.ended(slow.turnId);
    expect(stack.runsOf(slow.tool)).toEqual([]);
  });

  test('that ends the waiting turn by a cancel answers its calls, so that the next turn works', async () => {
    const scene = await waitingScene(stack);
    await stack.api.cancelSession(scene.sessionId);
    expect((await stack.api.ended(scene.turnId)).status).toBe('CANCELLED');
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ role, status }) => [role, status])).toEqual([
      ['user', undefined],
      ['assistant', undefined],
      ['tool', 'error'],
      ['tool', 'error'],
    ]);
    expect(messages[2]?.content.toLowerCase()).toContain('cancelled');
    const next = await scene.ask('And now?');
    expect(next.types.at(-1)).toBe('interrupt');
    expect(stack.runsOf(scene.tool)).toEqual([]);
  });
});

describe.each(profiles())('$name: a new turn on a waiting session', (profile) => {
  const stack = useStack(profile);

  test('waits behind it (enqueue)', async () => {
    const scene = await waitingScene(stack);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Next.' });
    await sleep(400);
    expect((await stack.api.turn(turn.id)).status).toBe('QUEUED');
    expect(await stack.api.session(scene.sessionId)).toMatchObject({ state: 'WAITING', activeTurnId: scene.turnId });
    await stack.api.resume(scene.sessionId);
    // It has the same model, so it waits for a person as well.
    expect((await stack.api.settled(turn.id)).status).toBe('WAITING');
    expect((await stack.api.turn(scene.turnId)).status).toBe('COMPLETED');
  });

  test('can be cancelled in line, and the stream tells so at once', async () => {
    const scene = await waitingScene(stack);
    const turn = await scene.say('Next.');
    const before = performance.now();
    await stack.api.cancelTurn(turn.events[0]?.data.turnId);
    expect((await turn.over()).types).toEqual(['turn.queued', 'cancelled']);
    expect(performance.now() - before).toBeLessThan(1000);
    expect(await stack.api.session(scene.sessionId)).toMatchObject({ state: 'WAITING', activeTurnId: scene.turnId });
  });

  test('is refused (reject)', async () => {
    const scene = await waitingScene(stack);
    const { status, body } = await stack.api.call('POST', `/v1/sessions/${scene.sessionId}/turns`, {
      text: 'Next.',
      onBusy: 'reject',
    });
    expect([status, body.code, body.state]).toEqual([409, 'session_busy', 'WAITING']);
    expect((await stack.api.session(scene.sessionId)).turnCount).toBe(1);
  });

  test.each([
    ['interrupt', 'interrupted'],
    ['rollback', 'rolled_back'],
  ] as const)('ends it (%s)', async (onBusy, reason) => {
    const scene = await waitingScene(stack);
    const follower = stack.turnwire.follow(scene.sessionId);
    const next = await scene.ask({ text: 'Next.', onBusy });
    expect(next.types.at(-1)).toBe('interrupt');
    expect((await stack.api.turn(scene.turnId)).status).toBe('CANCELLED');
    const { data } = await follower.until(({ type }) => type === 'cancelled');
    follower.close();
    expect(data).toMatchObject({ turnId: scene.turnId, reason });
    const roles = scene.requests
      .at(-1)
      ?.body.messages.filter(({ role }) => role !== 'system')
      .map(({ role }) => role);
    expect(roles).toEqual(onBusy === 'interrupt' ? ['user', 'assistant', 'tool', 'tool', 'user'] : ['user']);
    expect(stack.runsOf(scene.tool)).toEqual([]);
  });
});

describe.each(profiles())('$name: over a restart, a waiting turn', (profile) => {
  const stack = useStack(profile);

  test('still waits, keeps what was decided, its agent as it was, and goes on', async () => {
    const scenes = await Promise.all([waitingScene(stack), waitingScene(stack), waitingScene(stack)]);
    const [plain, partly, expiring] = scenes as [Waiting, Waiting, Waiting];
    const dead = await waitingScene(stack, { ttlSeconds: 1, onExpire: 'fail' });
    await stack.api.resume(partly.sessionId, { decisions: { call_a: { action: 'respond', result: 'By phone.' } } });
    await stack.turnwire.kill('SIGKILL');
    await sleep(1000); // the approval of one expires while nobody is there
    await stack.turnwire.restart();
    for (const { sessionId } of scenes) expect((await stack.api.session(sessionId)).state).toBe('WAITING');
    expect((await stack.api.ended(dead.turnId)).error?.code).toBe('interrupt_expired');
    const stream = await stack.turnwire.stream(resumePath(plain), { method: 'POST' });
    await stream.over();
    expect(stream.types.at(-1)).toBe('done');
    expect(stack.runsOf(plain.tool)).toHaveLength(2);
    const conflict = await stack.api.resume(partly.sessionId, { decisions: { call_a: { action: 'approve' } } });
    expect(conflict.body.code).toBe('decision_conflict');
    await stack.api.resume(partly.sessionId, { decisions: { call_b: { action: 'approve' } } });
    expect(await stack.api.ended(partly.turnId)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect(resultsOf(partly)).toEqual(['By phone.', '{"sent":"bob"}']);
    await stack.api.cancelTurn(expiring.turnId);
    expect((await stack.api.ended(expiring.turnId)).status).toBe('CANCELLED');
  });
});
