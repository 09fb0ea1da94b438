import { playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';

describe.each(crashProfiles())('$name: a turn that kills its worker', (profile) => {
  const stack = useStack(profile, { env: SHORT_TIMES });

  test('is given up after some attempts, and the session can be used', async () => {
    // Until it is told otherwise, the model says a word and then nothing more.
    let answer = playStep({ text: 'Hm. ', ending: 'hang' });
    const scene = await stack.scene((call, reply) => answer(call, reply));
    const bystander = await stack.scene(playStep('Not me.'));
    const follower = stack.turnwire.follow(scene.sessionId);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Die.' });
    const behind = await stack.api.postTurn(scene.sessionId, { text: 'Live.' });
    let kills = 0;
    for (; kills < 9; kills += 1) {
      const { status } = await eventually(async () => {
        const found = await stack.api.turn(turn.id);
        if (found.status !== 'FAILED') expect(scene.requests).toHaveLength(kills + 1);
        return found;
      });
      if (status === 'FAILED') break;
      await follower.until(({ type }) => type === 'turn.delta', kills + 1);
      expect((await bystander.ask('You too?')).text).toBe('Not me.');
      if (kills === 4) answer = playStep('I live.');
      await stack.turnwire.kill('SIGKILL');
      await stack.turnwire.restart();
    }
    expect(kills).toBe(5);
    const ended = await stack.api.ended(turn.id);
    expect(ended).toMatchObject({ status: 'FAILED', attempt: 5, error: { code: 'attempts_exhausted' } });
    const { data } = await follower.until(({ type }) => type === 'error');
    expect(data.code).toBe('attempts_exhausted');
    expect((await stack.api.ended(behind.id)).status).toBe('COMPLETED');
    expect((await scene.ask('And now?')).text).toBe('I live.');
    follower.close();
    expect(follower.of('turn.started', turn.id).map((event) => event.data.attempt)).toEqual([1, 2, 3, 4, 5]);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ content, status }) => [content, status])).toEqual([
      ['Die.', undefined],
      ['Hm. ', 'partial'],
      ['Live.', undefined],
      ['I live.', undefined],
      ['And now?', undefined],
      ['I live.', undefined],
    ]);
  }, 120_000);
});
