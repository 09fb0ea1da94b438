import { Worker } from 'node:worker_threads';
import type { Clock } from '@turnwire/shared/ports/clock';
import { ToolError } from './tool-error.ts';

/** What a thread answers; its first message, which says that it has loaded, is `null`. */
export type ComputeAnswer = { readonly result: string } | { readonly error: string };

export interface ComputeThread {
  /** One input after the other. Throws a `ToolError` with what the computation threw, or that it took too much. */
  run(input: string, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

export interface ComputeThreadOptions {
  /** A module that calls `serveComputation`. */
  readonly module: URL;
  /** How long one computation may take. */
  readonly limitMs: number;
  readonly clock: Clock;
}

/** Loading is slower on a busy machine, but never as slow as this. */
const LOAD_LIMIT_MS = 20_000;
const HEAP_LIMIT_MB = 256;
/** A thread without work gives its memory back after this: mathjs alone takes some 80 MB. */
const IDLE_MS = 60_000;

/**
 * Runs what comes from outside and could take for ever (an expression, a page of HTML) in a thread of its own, since
 * nothing else can stop a computation: it would hold up the tokens and the leases of all turns of this process. The
 * thread starts with the first use and is replaced when it had to be stopped.
 */
export function createComputeThread({ module, limitMs, clock }: ComputeThreadOptions): ComputeThread {
  let loading: Promise<Worker> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let waiting = 0;
  let cancelRest = (): void => {};

  function rest(): void {
    const idle = loading;
    loading = null;
    void idle?.then(
      (worker) => worker.terminate(),
      () => {},
    );
  }

  async function compute(input: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    if (closed) throw new ToolError('The server is shutting down.');
    loading ??= load(module, clock);
    try {
      const worker = await loading;
      worker.postMessage(input);
      const answer = await nextMessage<ComputeAnswer>(worker, clock, limitMs);
      if ('error' in answer) throw new ToolError(answer.error);
      return answer.result;
    } catch (error) {
      if (error instanceof Stopped) loading = null;
      throw error;
    }
  }

  return {
    async run(input, signal) {
      cancelRest();
      waiting += 1;
      const computed = last
        .then(() => compute(input, signal))
        .finally(() => {
          waiting -= 1;
          if (waiting === 0) cancelRest = clock.after(IDLE_MS, rest);
        });
      last = computed.catch(() => {});
      return rejectOnAbort(computed, signal);
    },
    async close() {
      closed = true;
      cancelRest();
      const worker = await loading?.catch(() => null);
      await worker?.terminate();
    },
  };
}

/** The thread is gone. */
class Stopped extends ToolError {}

async function load(module: URL, clock: Clock): Promise<Worker> {
  const worker = new Worker(module, {
    env: {}, // our own secrets are no business of what is computed
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MB },
  });
  worker.on('error', () => {}); // without a listener it would end the process, also when nobody waits
  await nextMessage<null>(worker, clock, LOAD_LIMIT_MS);
  return worker;
}

/** The process may end while the thread waits for work, but not while it is at work. */
async function nextMessage<T>(worker: Worker, clock: Clock, limitMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onError = (error: NodeJS.ErrnoException) => reject(new Stopped(causeOf(error), { cause: error }));
  const onExit = () => reject(new Stopped('It was stopped.'));
  const stopTimer = clock.after(limitMs, () => {
    reject(new Stopped(`It took longer than ${limitMs} ms and was stopped.`));
    worker.terminate().catch(() => {});
  });
  worker.once('message', resolve).once('error', onError).once('exit', onExit).ref();
  try {
    return await promise;
  } finally {
    stopTimer();
    worker.off('message', resolve).off('error', onError).off('exit', onExit).unref();
  }
}

function causeOf({ code }: NodeJS.ErrnoException): string {
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'It took too much memory and was stopped.' : 'It failed unexpectedly.';
}

async function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
