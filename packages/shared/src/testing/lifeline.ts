import type { Clock } from '../ports/clock.ts';

/** How a process comes to a stand, at its n-th call of a port: before the call has taken effect, or after. */
export interface Fate {
  readonly at: number;
  readonly when: 'before' | 'after';
  /** A process that `stalls` goes on when it is woken; one that `dies` never does. */
  readonly kind: 'dies' | 'stalls';
}

/** What all ports of one simulated process hang on. */
export interface Lifeline {
  /** Names of the calls so far, in order. */
  readonly calls: readonly string[];
  readonly isStopped: boolean;
  /** Resolves when the process stands. */
  readonly stopped: Promise<void>;
  /** Makes the process stand now. */
  stop(): void;
  /** Lets a stalled process go on: calls that waited are made, answers that waited arrive. */
  wake(): void;
  /** The port as this process reaches it. Methods may answer promises, or ports of their own. */
  port<T extends object>(name: string, target: T): T;
  /** The clock as this process sees it: timers that fall due while it stands fire when it goes on. */
  clock(clock: Clock): Clock;
  /** One call, counted as those of a port. */
  call<T>(name: string, fn: () => Promise<T>): Promise<T>;
}

const NO_FATE: Fate = { at: Number.POSITIVE_INFINITY, when: 'before', kind: 'dies' };

export function createLifeline(given: Partial<Fate> = {}): Lifeline {
  const fate: Fate = { ...NO_FATE, ...given };
  const calls: string[] = [];
  const end = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isStopped = false;

  /** Whether this very call is the one at which the process stops. */
  function isLast(when: Fate['when'], call: number): boolean {
    return call === fate.at && when === fate.when;
  }

  function stop(): void {
    isStopped = true;
    end.resolve();
  }

  async function call<T>(name: string, fn: () => Promise<T>): Promise<T> {
    const number = calls.push(name);
    if (isLast('before', number)) stop();
    if (isStopped) await gate.promise;
    const answer = await Promise.allSettled([fn()]);
    if (isLast('after', number)) stop();
    if (isStopped) await gate.promise;
    const [settled] = answer;
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  }

  /** A call that answers at once cannot wait: of a dead process it has no effect, a stalled one has made it before. */
  function callAtOnce<T>(name: string, fn: () => T, nothing: T): T {
    const number = calls.push(name);
    if (isLast('before', number) && fate.kind === 'dies') stop();
    if (isStopped && fate.kind === 'dies') return nothing;
    const answer = fn();
    if (number === fate.at) stop();
    return answer;
  }

  /** Each page is a call of its own: a process may stand in the middle of a stream. */
  async function* pages(name: string, fn: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    const iterator = fn()[Symbol.asyncIterator]();
    for (;;) {
      const next = await call(name, () => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  }

  function method(label: string, property: string | symbol, invoke: (args: readonly unknown[]) => unknown) {
    switch (mannerOf(property)) {
      case 'pages':
        return (...args: unknown[]) => pages(label, () => invoke(args) as AsyncIterable<unknown>);
      case 'at once':
        return (...args: unknown[]) => callAtOnce(label, () => invoke(args), undefined);
      case 'wiring':
        return (...args: unknown[]) => invoke(args);
      case 'promise':
        return (...args: unknown[]) =>
          call(label, async () => {
            const answer = await (invoke(args) as Promise<unknown>);
            return property === 'openWriter' ? port('writer', answer as object) : answer;
          });
    }
  }

  function port<T extends object>(name: string, target: T): T {
    return new Proxy(target, {
      get(_, property) {
        const value: unknown = Reflect.get(target, property, target);
        const label = `${name}.${String(property)}`;
        if (typeof value === 'function') return method(label, property, (args) => Reflect.apply(value, target, args));
        return typeof value === 'object' && value !== null ? port(label, value) : value;
      },
    });
  }

  return {
    calls,
    get isStopped() {
      return isStopped;
    },
    stopped: end.promise,
    stop,
    wake() {
      if (fate.kind === 'dies') throw new Error('The dead stay dead.');
      isStopped = false;
      gate.resolve();
    },
    port,
    call,
    clock: (clock) => ({
      now: () => clock.now(),
      async sleep(ms, signal) {
        await clock.sleep(ms, signal);
        if (isStopped) await gate.promise;
      },
      after: (ms, fn) => clock.after(ms, () => (isStopped ? void gate.promise.then(fn) : fn())),
      every(ms, fn) {
        let waits = false;
        return clock.every(ms, () => {
          if (!isStopped) return fn();
          if (waits) return;
          waits = true;
          void gate.promise.then(fn);
        });
      },
    }),
  };
}

/** How a method of a port answers. `wiring` takes effect in the process alone and is no call to anybody. */
function mannerOf(property: string | symbol): 'pages' | 'at once' | 'wiring' | 'promise' {
  switch (property) {
    case 'replay':
    case 'stream':
      return 'pages';
    case 'append':
      return 'at once';
    case 'onNudge':
    case 'nudge':
    case 'announce':
    case 'close':
      return 'wiring';
    default:
      return 'promise';
  }
}
