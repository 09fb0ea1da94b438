import { unavailable } from '../../domain/errors.ts';
import { mongoFailure } from './mongo-failure.ts';

/** What stands before every method of the store: it says what failed in the words of the ports, and can be closed. */
export interface Gate {
  guard<P extends object>(port: P): P;
  /** Later calls throw `unavailable`. */
  close(): void;
}

export function createGate(): Gate {
  let open = true;
  async function pass(call: () => unknown): Promise<unknown> {
    if (!open) throw unavailable('The store', new Error('it was closed'));
    try {
      return await call();
    } catch (error) {
      throw mongoFailure(error);
    }
  }
  return {
    guard: (port) =>
      new Proxy(port, {
        get(target, name) {
          const method: unknown = Reflect.get(target, name);
          if (typeof method !== 'function') return method;
          return (...args: unknown[]) => pass(() => Reflect.apply(method, target, args));
        },
      }),
    close() {
      open = false;
    },
  };
}
