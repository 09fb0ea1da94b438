import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { afterEach, describe, expect, it } from 'vitest';
import { type ComputeThread, createComputeThread } from './compute-thread.ts';

const { signal } = new AbortController();

describe('createComputeThread', () => {
  let thread: ComputeThread | null = null;
  afterEach(() => thread?.close());
  const start = (limitMs = 5_000, clock = realClock): ComputeThread => {
    thread = createComputeThread({ module: new URL('./fixtures/test-thread.ts', import.meta.url), limitMs, clock });
    return thread;
  };

  it('answers each input, in order', async () => {
    const { run } = start();
    expect(await Promise.all(['echo a', 'echo b', 'echo c'].map((input) => run(input, signal)))).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('passes on what a computation throws', async () => {
    const { run } = start();
    await expect(run('throw no', signal)).rejects.toThrow(
      expect.objectContaining({ name: 'ToolError', message: 'no' }),
    );
  });

  it('stops what never ends, and goes on with the next', async () => {
    const { run } = start(200);
    const [hung, next] = await Promise.allSettled([run('hang', signal), run('echo next', signal)]);
    expect(hung).toMatchObject({ reason: { message: 'It took longer than 200 ms and was stopped.' } });
    expect(next).toEqual({ status: 'fulfilled', value: 'next' });
  });

  it('survives a computation that takes all memory', async () => {
    const { run } = start(60_000);
    await expect(run('eat', signal)).rejects.toThrow('It took too much memory and was stopped.');
    expect(await run('echo still here', signal)).toBe('still here');
  }, 60_000);

  it('gives the memory back when it had nothing to do for a while, and starts again', async () => {
    const clock = createManualClock(0);
    const { run } = start(5_000, clock);
    const first = await run('thread', signal);
    await clock.advance(59_000);
    expect(await run('thread', signal)).toBe(first);
    await clock.advance(60_000);
    expect(await run('thread', signal)).not.toBe(first);
  });

  it('gives the thread none of our environment', async () => {
    expect(await start().run('env', signal)).toBe('');
  });

  it('rejects at once on abort, and runs nothing that was aborted while it waited', async () => {
    const clock = createManualClock(0);
    const { run } = start(1_000, clock);
    const [first, second] = [new AbortController(), new AbortController()];
    const hanging = run('hang', first.signal);
    const waiting = run('hang again', second.signal);
    first.abort(new Error('one'));
    second.abort(new Error('two'));
    await expect(hanging).rejects.toThrow('one');
    await expect(waiting).rejects.toThrow('two');
    await clock.advance(1_000);
    expect(await run('echo after', signal)).toBe('after'); // had the second run, it would still do so
  });

  it('runs nothing after it was closed', async () => {
    const closed = start();
    await closed.run('echo a', signal);
    await closed.close();
    await expect(closed.run('echo b', signal)).rejects.toThrow('The server is shutting down.');
  });
});
