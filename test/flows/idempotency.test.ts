import { playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import type { EventStream } from '../stack/event-stream.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

const REPLAYED = 'idempotency-replayed';
const durable = ({ events }: EventStream) =>
  events.filter(({ id }) => id !== null).map(({ id, type, data }) => ({ id, type, data }));

describe.each(profiles())('$name: an Idempotency-Key', (profile) => {
  const stack = useStack(profile);

  test('makes one turn of 20 posts, also over a kill -9', async () => {
    const scene = await stack.scene(playStep(pieces(10, 10)));
    const key = { 'idempotency-key': 'turn 1' };
    const path = `/v1/sessions/${scene.sessionId}/turns`;
    const post = () => stack.api.call('POST', path, { text: 'Go' }, key);
    const answers = await Promise.all(Array.from({ length: 20 }, post));
    const accepted = answers.filter(({ status }) => status === 202);
    // What came while the first was in flight may be told so.
    expect(answers.filter(({ status, body }) => status !== 202 && body.code !== 'idempotency_in_flight')).toEqual([]);
    expect(new Set(accepted.map(({ body }) => body.id)).size).toBe(1);
    expect(accepted.filter(({ headers }) => headers.get(REPLAYED) === null)).toHaveLength(1);
    const turnId = accepted[0]?.body.id;
    stack.turnwire.accepted.turns.set(turnId, scene.sessionId);
    await stack.turnwire.kill('SIGKILL');
    await stack.turnwire.restart();
    const again = await post();
    expect([again.status, again.body, again.headers.get(REPLAYED)]).toEqual([202, accepted[0]?.body, 'true']);
    await stack.api.ended(turnId);
    expect((await stack.api.session(scene.sessionId)).turnCount).toBe(1);
    const other = await stack.api.call('POST', path, { text: 'Something else' }, key);
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
  });

  test('replays the stream of the turn from its first event: while it runs, and after', async () => {
    const scene = await stack.scene(playStep(pieces(20, 15)));
    const key = { 'idempotency-key': 'stream 1' };
    const first = await scene.say('Go', key);
    await first.until('turn.delta', 5);
    first.close();
    const second = await scene.say('Go', key);
    expect(second.headers.get(REPLAYED)).toBe('true');
    await second.over();
    const third = await (await scene.say('Go', key)).over();
    expect(durable(third)).toEqual(durable(second));
    expect(second.text).toBe(pieces(20, 0).text.join(''));
    expect(second.types.filter((type) => type !== 'turn.queued')[0]).toBe('turn.started');
    expect(scene.requests).toHaveLength(1);
    // JSON for the one, events for the other: it is the same turn.
    const json = await stack.api.call('POST', `/v1/sessions/${scene.sessionId}/turns`, { text: 'Go' }, key);
    expect([json.status, json.body.id]).toEqual([202, second.events[0]?.data.turnId]);
  });

  test('is not used up by a refusal', async () => {
    const scene = await stack.scene(playStep(pieces(300, 10)));
    const stream = await scene.say('Go');
    const path = `/v1/sessions/${scene.sessionId}/turns`;
    const post = () => stack.api.call('POST', path, { text: 'x', onBusy: 'reject' }, { 'idempotency-key': 'busy' });
    expect((await post()).status).toBe(409);
    await stack.api.cancelSession(scene.sessionId);
    await stream.over();
    await stack.api.reaches(scene.sessionId, 'IDLE');
    const taken = await post();
    expect([taken.status, taken.headers.get(REPLAYED)]).toEqual([202, null]);
    stack.turnwire.accepted.turns.set(taken.body.id, scene.sessionId);
    await stack.api.cancelSession(scene.sessionId);
  });

  test('takes a decision once, in parts and as a whole, and streams it again from turn.resumed', async () => {
    const tool = await stack.tool(() => 'sent');
    const calls = [
      { id: 'a', name: tool },
      { id: 'b', name: tool },
    ];
    const scene = await stack.scene(callsThen(calls, 'Sent.'), { tools: [tool], approval: { tools: [tool] } });
    await scene.ask('Send.');
    const part = { decisions: { a: { action: 'approve' as const } } };
    const first = await stack.api.resume(scene.sessionId, part, { 'idempotency-key': 'part' });
    const same = await stack.api.resume(scene.sessionId, part, { 'idempotency-key': 'part' });
    expect([first.status, same.status, same.headers.get(REPLAYED)]).toEqual([200, 200, 'true']);
    expect(same.body).toEqual(first.body);
    const path = `/v1/sessions/${scene.sessionId}/resume`;
    const init = { method: 'POST', headers: { 'idempotency-key': 'rest' } } as const;
    const stream = await (await stack.turnwire.stream(path, init)).over();
    expect(stream.types[0]).toBe('turn.resumed');
    expect(stream.types.at(-1)).toBe('done');
    await scene.ask('Again.');
    const again = await (await stack.turnwire.stream(path, init)).over();
    expect(again.headers.get(REPLAYED)).toBe('true');
    expect(durable(again)).toEqual(durable(stream));
    expect(stack.runsOf(tool)).toHaveLength(2);
    expect((await stack.api.session(scene.sessionId)).state).toBe('WAITING');
  });

  test('makes one session, one memory, one cancel', async () => {
    const scene = await stack.scene(playStep('Yes.'));
    const key = { 'idempotency-key': 'create' };
    const input = { agentId: scene.agentId, userId: 'once' };
    const sessions = await Promise.all(
      Array.from({ length: 10 }, () => stack.api.call('POST', '/v1/sessions', input, key)),
    );
    const made = sessions.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    const listed = await stack.api.call('GET', '/v1/sessions?userId=once');
    expect(listed.body.items).toHaveLength(1);
    // A key is for one call: the same for another route is another body.
    const elsewhere = await stack.api.call('POST', '/v1/memories', { userId: 'once', text: 'Is one.' }, key);
    expect([elsewhere.status, elsewhere.body.code]).toEqual([422, 'idempotency_mismatch']);
    const memory = { userId: 'once', text: 'Is one.' };
    const one = await stack.api.addMemory(memory, { 'idempotency-key': 'memory' });
    const two = await stack.api.addMemory(memory, { 'idempotency-key': 'memory' });
    expect(two).toEqual(one);
    expect(await stack.api.memories('once')).toHaveLength(1);
    const cancels = [];
    for (let i = 0; i < 2; i += 1) {
      const path = `/v1/sessions/${scene.sessionId}/cancel`;
      cancels.push(await stack.api.call('POST', path, undefined, { 'idempotency-key': 'cancel' }));
    }
    expect(cancels.map(({ status, headers }) => [status, headers.get(REPLAYED)])).toEqual([
      [202, null],
      [202, 'true'],
    ]);
    // A replayed cancel is an old answer, no new cancel.
    const stream = await scene.say('Go');
    await stack.api.call('POST', `/v1/sessions/${scene.sessionId}/cancel`, undefined, { 'idempotency-key': 'cancel' });
    expect((await stream.over()).types.at(-1)).toBe('done');
  });
});
