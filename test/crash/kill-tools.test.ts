import { messageText } from '@turnwire/demo-model/chat-request';
import { describe, expect, test } from 'vitest';
import { callsThen } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';
import type { ToolBehaviour } from '../stack/tool-server.ts';

/** Within that, a turn whose worker died moves on. */
const LEASE_AND_SWEEP_MS = Number(SHORT_TIMES.LEASE_MS) + Number(SHORT_TIMES.SWEEP_MS);

/** Hangs when it is called first, and answers with its key after. */
function hangsOnce(): ToolBehaviour {
  const called = new Set<string>();
  return ({ idempotencyKey }) => {
    if (called.has(idempotencyKey)) return { key: idempotencyKey };
    called.add(idempotencyKey);
    return new Promise(() => undefined);
  };
}

describe.each(crashProfiles())('$name: kill -9 while tools run', (profile) => {
  const stack = useStack(profile, { env: SHORT_TIMES });

  test('runs again what may be run again, with the same key; of the rest the model is told that nobody knows', async () => {
    const quick = await stack.tool(() => 'quick');
    const careful = await stack.tool(hangsOnce());
    const repeatable = await stack.tool(hangsOnce(), { idempotent: true });
    const calls = [
      { id: 'q', name: quick },
      { id: 'c', name: careful, arguments: { amount: 5 } },
      { id: 'r', name: repeatable, arguments: { amount: 5 } },
    ];
    const scene = await stack.scene(callsThen(calls, 'As far as I know.'), { tools: [quick, careful, repeatable] });
    const follower = stack.turnwire.follow(scene.sessionId);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Pay.' });
    await follower.until(({ type }) => type === 'tool.result');
    await eventually(() => expect([...stack.runsOf(careful), ...stack.runsOf(repeatable)]).toHaveLength(2));
    await stack.turnwire.kill('SIGKILL');
    await stack.turnwire.restart();
    const restartedAt = Date.now();
    expect(await stack.api.ended(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 2 });
    expect(Date.now() - restartedAt).toBeLessThan(LEASE_AND_SWEEP_MS);

    expect([quick, careful, repeatable].map((tool) => stack.runsOf(tool).length)).toEqual([1, 1, 2]);
    const [first, second] = stack.runsOf(repeatable);
    expect(second?.idempotencyKey).toBe(first?.idempotencyKey);
    expect(second?.arguments).toEqual({ amount: 5 });
    const results = scene.requests
      .at(-1)
      ?.body.messages.filter(({ role }) => role === 'tool')
      .map(messageText);
    expect(results).toEqual(['"quick"', expect.stringContaining('unknown'), `{"key":"${first?.idempotencyKey}"}`]);
    await follower.until(({ type }) => type === 'done');
    const unknown = follower.of('tool.result').find(({ data }) => data.toolCallId === 'c');
    expect(unknown?.data).toMatchObject({ ok: false, name: careful });
    expect(follower.of('tool.call')).toHaveLength(3);
    expect(follower.of('tool.result')).toHaveLength(3);
    follower.close();
  });

  test('and again while it is repeated keeps the key', async () => {
    let calls = 0;
    const repeatable = await stack.tool(
      ({ idempotencyKey }) => {
        calls += 1;
        return calls > 3 ? { key: idempotencyKey } : new Promise(() => undefined);
      },
      { idempotent: true },
    );
    const scene = await stack.scene(callsThen([{ name: repeatable }], 'Done.'), { tools: [repeatable] });
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go.' });
    for (let n = 1; n <= 3; n += 1) {
      await eventually(() => expect(calls).toBe(n));
      await stack.turnwire.kill('SIGKILL');
      await stack.turnwire.restart();
    }
    expect(await stack.api.ended(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 4 });
    expect(new Set(stack.runsOf(repeatable).map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(stack.runsOf(repeatable)).toHaveLength(4);
  });

  test('after a cancel was stored ends the turn as cancelled, and runs nothing', async () => {
    const repeatable = await stack.tool(hangsOnce(), { idempotent: true });
    const scene = await stack.scene(callsThen([{ name: repeatable }], 'Never.'), { tools: [repeatable] });
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go.' });
    await eventually(() => expect(stack.runsOf(repeatable)).toHaveLength(1));
    // A process that stands still takes nothing up any more: the cancel is stored by its next life's socket or not at
    // all, so it is sent while the process runs and the kill follows its answer at once.
    await stack.api.cancelTurn(turn.id);
    await stack.turnwire.kill('SIGKILL');
    await stack.turnwire.restart();
    expect((await stack.api.ended(turn.id)).status).toBe('CANCELLED');
    expect(stack.runsOf(repeatable)).toHaveLength(1);
    expect(scene.requests).toHaveLength(1);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });
});
