import { parentPort } from 'node:worker_threads';
import type { ComputeAnswer } from './compute-thread.ts';

/** The thread's side of `createComputeThread`: answers each input with what `compute` returns or throws. */
export function serveComputation(compute: (input: string) => string): void {
  const port = parentPort;
  if (port === null) throw new Error('Not in a worker thread.');
  port.on('message', (input: string) => port.postMessage(answer(compute, input)));
  port.postMessage(null);
}

function answer(compute: (input: string) => string, input: string): ComputeAnswer {
  try {
    return { result: compute(input) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
