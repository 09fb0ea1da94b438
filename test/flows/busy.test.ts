import { messageText } from '@turnwire/demo-model/chat-request';
import { byConversation, playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { pieces } from '../stack/answers.ts';
import { type Scene, useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

/** Counts without an end in sight where the newest text asks for it, and says the text otherwise. */
const COUNT_OR_ECHO = byConversation((messages) => {
  const text = messageText(messages.at(-1) ?? { role: 'user' });
  return text.startsWith('Count') ? pieces(500, 10) : `You said: ${text}`;
});

const said = ({ requests }: Scene) =>
  requests.at(-1)?.body.messages.map((message) => `${message.role}: ${messageText(message)}`) ?? [];

describe.each(profiles())('$name: a turn on a running session', (profile) => {
  const stack = useStack(profile);

  test('waits in line (enqueue), and the line is kept in order', async () => {
    const gate = Promise.withResolvers<void>();
    const scene = await stack.scene(async ({ body }, reply) => {
      await gate.promise;
      return reply.text(`You said: ${messageText(body.messages.at(-1) ?? { role: 'user' })}`);
    });
    const texts = Array.from({ length: 8 }, (_, i) => `text ${i}`);
    const follower = stack.turnwire.follow(scene.sessionId);
    const streams = [];
    for (const text of texts) streams.push(await scene.say(text));
    expect(streams.map((stream) => stream.events[0]?.data.position)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    gate.resolve();
    await Promise.all(streams.map((stream) => stream.over()));
    expect(streams.map(({ text }) => text)).toEqual(texts.map((text) => `You said: ${text}`));
    await follower.until(({ type }) => type === 'done', 8);
    follower.close();
    // One at a time: between the start and the end of one, there is nothing of another.
    const turnIds = follower.events.map(({ data }) => data.turnId);
    expect(turnIds.filter((id, i) => id !== turnIds[i - 1])).toHaveLength(8);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(texts);
    expect(await stack.api.session(scene.sessionId)).toMatchObject({ state: 'IDLE', turnCount: 8 });
  });

  test('posted 20 times at once becomes 20 turns, one after the other', async () => {
    const scene = await stack.scene(playStep('Yes.'));
    const turns = await Promise.all(
      Array.from({ length: 20 }, (_, i) => stack.api.postTurn(scene.sessionId, { text: `text ${i}` })),
    );
    expect(new Set(turns.map(({ number }) => number)).size).toBe(20);
    const ended = await Promise.all(turns.map(({ id }) => stack.api.ended(id, 30_000)));
    const inOrder = ended.toSorted((a, b) => a.number - b.number);
    expect(inOrder.map(({ status }) => status)).toEqual(Array(20).fill('COMPLETED'));
    const times = inOrder.flatMap(({ startedAt, finishedAt }) => [
      Date.parse(startedAt ?? ''),
      Date.parse(finishedAt ?? ''),
    ]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const longest = Math.max(...scene.requests.map(({ body }) => body.messages.length));
    expect(longest).toBe(39);
  }, 90_000);

  test('is refused (reject), and once it rests taken', async () => {
    const scene = await stack.scene(COUNT_OR_ECHO);
    const stream = await scene.say('Count');
    await stream.until('turn.delta');
    const body = { text: 'Hello', onBusy: 'reject' as const };
    const refused = await stack.api.call('POST', `/v1/sessions/${scene.sessionId}/turns`, body);
    expect([refused.status, refused.body.code, refused.body.state]).toEqual([409, 'session_busy', 'RUNNING']);
    const overSse = stack.turnwire.stream(`/v1/sessions/${scene.sessionId}/turns`, { method: 'POST', body });
    await expect(overSse).rejects.toThrow('answered 409');
    await stack.api.cancelSession(scene.sessionId);
    await stack.api.reaches(scene.sessionId, 'IDLE');
    expect((await scene.ask(body)).text).toBe('You said: Hello');
  });

  test('ends the running one and keeps its text (interrupt)', async () => {
    const scene = await stack.scene(COUNT_OR_ECHO);
    const first = await scene.say('Count');
    await first.until('turn.delta', 3);
    const second = await scene.ask({ text: 'Enough', onBusy: 'interrupt' });
    expect(second.text).toBe('You said: Enough');
    await first.over();
    expect(first.events.at(-1)).toMatchObject({ type: 'cancelled', data: { reason: 'interrupted' } });
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages[1]).toMatchObject({ role: 'assistant', content: first.text, status: 'partial' });
    expect(said(scene)).toEqual(['user: Count', `assistant: ${first.text}`, 'user: Enough']);
    expect(scene.requests[0]?.state).toBe('aborted');
  });

  test('ends the running one and removes it (rollback)', async () => {
    const scene = await stack.scene(COUNT_OR_ECHO);
    await scene.ask('Hello');
    const first = await scene.say('Count');
    await first.until('turn.delta', 3);
    const turnId = first.events[0]?.data.turnId;
    const second = await scene.ask({ text: 'Rather this', onBusy: 'rollback' });
    await first.over();
    expect(first.events.at(-1)).toMatchObject({ type: 'cancelled', data: { reason: 'rolled_back' } });
    expect(second.text).toBe('You said: Rather this');
    expect(said(scene)).toEqual(['user: Hello', 'assistant: You said: Hello', 'user: Rather this']);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ content }) => content)).toEqual([
      'Hello',
      'You said: Hello',
      'Rather this',
      'You said: Rather this',
    ]);
    expect(await stack.api.turn(turnId)).toMatchObject({ status: 'CANCELLED', number: 2 });
    expect((await stack.api.session(scene.sessionId)).turnCount).toBe(3);
  });

  test('with others in line before it ends the running one alone', async () => {
    const scene = await stack.scene(COUNT_OR_ECHO);
    const first = await scene.say('Count');
    await first.until('turn.delta');
    const waiting = await stack.api.postTurn(scene.sessionId, { text: 'In line' });
    const last = await scene.ask({ text: 'Last', onBusy: 'interrupt' });
    expect(last.types.at(-1)).toBe('done');
    expect((await stack.api.ended(waiting.id)).status).toBe('COMPLETED');
    expect(said(scene).filter((line) => line.startsWith('user'))).toEqual([
      'user: Count',
      'user: In line',
      'user: Last',
    ]);
  });

  test('interrupted again and again leaves a history that is whole', async () => {
    const scene = await stack.scene(COUNT_OR_ECHO);
    const texts = Array.from({ length: 10 }, (_, i) => ({ text: `Count ${i}`, onBusy: 'interrupt' as const }));
    const turns = [];
    for (const input of texts) turns.push(await stack.api.postTurn(scene.sessionId, input));
    const last = await scene.ask({ text: 'Stop', onBusy: 'interrupt' });
    expect(last.text).toBe('You said: Stop');
    const ended = await Promise.all(turns.map(({ id }) => stack.api.ended(id)));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['CANCELLED']));
  });
});
