import { setTimeout as sleep } from 'node:timers/promises';
import { playStep, scripted } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';

describe.each(crashProfiles())('$name: kill -9 right after an acceptance', (profile) => {
  const stack = useStack(profile, { env: SHORT_TIMES });

  async function crash(): Promise<void> {
    await stack.turnwire.kill('SIGKILL');
    await stack.turnwire.restart();
  }

  test('of a turn: it runs', async () => {
    for (let n = 0; n < 4; n += 1) {
      const scene = await stack.scene(playStep('Here I am.'));
      const turn = await stack.api.postTurn(scene.sessionId, { text: 'Are you there?' });
      await crash();
      expect((await stack.api.ended(turn.id)).status).toBe('COMPLETED');
      expect((await stack.api.messages(scene.sessionId)).map(({ content }) => content)).toEqual([
        'Are you there?',
        'Here I am.',
      ]);
    }
  });

  test('of a line of turns: they run in order, each once', async () => {
    const scene = await stack.scene(playStep(pieces(4, 10)));
    const follower = stack.turnwire.follow(scene.sessionId);
    const turns = [];
    for (let n = 0; n < 10; n += 1) turns.push(await stack.api.postTurn(scene.sessionId, { text: `text ${n}` }));
    await follower.until(({ type }) => type === 'turn.delta', 6);
    await crash();
    const ended = await Promise.all(turns.map(({ id }) => stack.api.ended(id)));
    expect(ended.map(({ status }) => status)).toEqual(Array(10).fill('COMPLETED'));
    await follower.until(({ type }) => type === 'done', 10);
    follower.close();
    expect(follower.of('done').map(({ data }) => data.turnId)).toEqual(turns.map(({ id }) => id));
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(
      turns.map(({ text }) => text),
    );
  });

  test('that its client never heard of: with the same key it is the same turn', async () => {
    const scenes = await Promise.all(Array.from({ length: 12 }, () => stack.scene(playStep('Once.'))));
    const key = { 'idempotency-key': 'the only one' };
    const posts = scenes.map(async ({ sessionId }, i) => {
      await sleep(i * 2);
      return stack.api.postTurn(sessionId, { text: 'Go.' }, { 'idempotency-key': `${key['idempotency-key']} ${i}` });
    });
    const outcomes = Promise.allSettled(posts);
    await sleep(12);
    await crash();
    await outcomes;
    for (const [i, { sessionId }] of scenes.entries()) {
      const again = { 'idempotency-key': `${key['idempotency-key']} ${i}` };
      const turn = await stack.api.postTurn(sessionId, { text: 'Go.' }, again);
      await stack.api.ended(turn.id);
      expect((await stack.api.session(sessionId)).turnCount).toBe(1);
    }
  });

  test('whose stream broke: with the same key it is streamed from its first event on', async () => {
    const scene = await stack.scene(playStep(pieces(20, 15)));
    const key = { 'idempotency-key': 'stream' };
    const first = await scene.say('Count.', key);
    await first.until('turn.delta', 6);
    await crash();
    expect((await first.over()).end).toBe('broken');
    const second = await (await scene.say('Count.', key)).over();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.ids[0]).toBe(first.ids[0]);
    expect(second.of('turn.started').map(({ data }) => data.attempt)).toEqual([1, 2]);
    expect([second.text, second.types.at(-1)]).toEqual([pieces(20, 0).text.join(''), 'done']);
  });

  test('of a cancel: the turn ends as cancelled with the text that was shown, and no model is asked', async () => {
    const scene = await stack.scene(playStep(pieces(400, 10)));
    const follower = stack.turnwire.follow(scene.sessionId);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Count.' });
    await follower.until(({ type }) => type === 'turn.delta', 8);
    await stack.api.cancelTurn(turn.id);
    await crash();
    expect((await stack.api.ended(turn.id)).status).toBe('CANCELLED');
    await follower.until(({ type }) => type === 'cancelled');
    follower.close();
    expect(scene.requests).toHaveLength(1);
    const [, partial] = await stack.api.messages(scene.sessionId);
    expect(partial?.status).toBe('partial');
    // At least what had been in the log for a while.
    expect(partial?.content).toMatch(/^w0 /);
    expect(pieces(400, 0).text.join('')).toContain(partial?.content);
  });

  test('in the middle of a cancel by onBusy: the new turn runs', async () => {
    const scene = await stack.scene(scripted([pieces(400, 10), 'Instead.', 'Instead.']));
    const first = await scene.say('Count.');
    await first.until('turn.delta', 4);
    const second = await stack.api.postTurn(scene.sessionId, { text: 'Rather this.', onBusy: 'interrupt' });
    await crash();
    expect((await stack.api.ended(second.id)).status).toBe('COMPLETED');
    expect((await stack.api.turn(first.events[0]?.data.turnId)).status).toBe('CANCELLED');
  });

  test('under a flood: all that was accepted ends', async () => {
    const scenes = await Promise.all(Array.from({ length: 25 }, () => stack.scene(playStep(pieces(3, 5)))));
    let answers = 0;
    const posts = Promise.allSettled(
      Array.from({ length: 200 }, async (_, n) => {
        const key = { 'idempotency-key': `flood ${n}` };
        const turn = await stack.api.postTurn(scenes[n % 25]?.sessionId ?? '', { text: `text ${n}` }, key);
        answers += 1;
        return turn;
      }),
    );
    await eventually(() => expect(answers).toBeGreaterThan(20));
    await crash();
    const accepted = (await posts).flatMap((post) => (post.status === 'fulfilled' ? [post.value] : []));
    const ended = await Promise.all(accepted.map(({ id }) => stack.api.ended(id, 60_000)));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['COMPLETED']));
  }, 90_000);
});
