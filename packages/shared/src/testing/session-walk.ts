import fc from 'fast-check';
import type { AgentMode } from '../domain/agent.ts';
import { AppError, type ErrorCode, isAppError } from '../domain/errors.ts';
import type { Decision, OnExpire } from '../domain/interrupt.ts';
import type { SessionKey } from '../domain/tenant.ts';
import { isSettled, type SettledState, type ToolCall } from '../domain/tool-call.ts';
import { isTerminalStatus, ON_BUSY, type OnBusy, type TurnStatus } from '../domain/turn.ts';
import type { SessionStore } from '../ports/session-store.ts';
import { EventTail } from './event-tail.ts';
import { progressViolations, type SessionSnapshot, sessionViolations } from './session-invariants.ts';
import { type HolderPort, TurnHolder } from './turn-holder.ts';

/** What clients and holders may do next. `holder` names one of three workers, who may be slow, dead or zombies. */
export type WalkStep =
  | { readonly do: 'accept'; readonly onBusy: OnBusy }
  | { readonly do: 'cancel'; readonly behind: number }
  | { readonly do: 'settle'; readonly decision: Decision; readonly onlyFirst: boolean }
  | { readonly do: 'pass'; readonly leases: number }
  | { readonly do: 'crash'; readonly holder: number }
  | { readonly do: 'work'; readonly holder: number; readonly act: Act; readonly pick: number };

const ACTS = [
  'claim',
  'renew',
  'adopt',
  'delta',
  ...Array.from({ length: 6 }, () => 'advance' as const),
  'suspend',
  'finish',
  'release',
] as const;
type Act = (typeof ACTS)[number];

const holder = fc.nat({ max: 2 });
const decision: fc.Arbitrary<Decision> = fc.constantFrom(
  { action: 'approve' },
  { action: 'reject', reason: 'no' },
  { action: 'edit', arguments: { city: 'elsewhere' } },
  { action: 'respond', result: 'as I say' },
);

/** Steps that happen at the same time, each of another actor; weighted so that turns get somewhere. */
export function walk(maxLength: number): fc.Arbitrary<readonly (readonly WalkStep[])[]> {
  const step: fc.Arbitrary<WalkStep> = fc.oneof(
    {
      weight: 34,
      arbitrary: fc.record({
        do: fc.constant('work' as const),
        holder,
        act: fc.constantFrom(...ACTS),
        pick: fc.nat(11),
      }),
    },
    { weight: 4, arbitrary: fc.constant({ do: 'accept', onBusy: 'enqueue' }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('accept' as const), onBusy: fc.constantFrom(...ON_BUSY) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), behind: fc.nat({ max: 2 }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), decision, onlyFirst: fc.boolean() }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), leases: fc.constantFrom(0.4, 1.1) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), holder }) },
  );
  const batch = fc.array(step, { minLength: 1, maxLength: 3, size: 'max' });
  // Without a bias towards small values: short walks, and those of one repeated step, lead nowhere.
  return fc.noBias(fc.array(batch, { minLength: 1, maxLength, size: 'max' }));
}

export interface WalkSubject {
  readonly key: SessionKey;
  readonly clients: Pick<SessionStore, 'acceptTurn' | 'settleInterrupt' | 'cancelTurn'>;
  readonly turns: HolderPort;
  /** The session with all of the turns that were accepted. */
  read(turnIds: readonly string[]): Promise<SessionSnapshot>;
  advance(ms: number): Promise<void>;
}

const REFUSALS: readonly ErrorCode[] = [
  'session_busy',
  'session_terminal',
  'session_not_waiting',
  'interrupt_stale',
  'interrupt_expired',
  'decision_conflict',
  'invalid_request',
  'lease_lost',
];

/** Walks, checking every invariant after each batch, and brings what is open to its end. Throws what it finds wrong. */
export async function runWalk(
  subject: WalkSubject,
  batches: readonly (readonly WalkStep[])[],
  options: { readonly mode: AgentMode; readonly leaseMs: number },
): Promise<SessionSnapshot> {
  const walker = new Walker(subject, options.mode, options.leaseMs);
  for (const batch of batches) await walker.batch(batch);
  return walker.drain();
}

class Walker {
  readonly #subject: WalkSubject;
  readonly #turns: HolderPort;
  readonly #mode: AgentMode;
  readonly #leaseMs: number;
  readonly #tail: EventTail;
  readonly #holders: TurnHolder[];
  readonly #turnIds: string[] = [];
  #accepted = 0;
  #holderCount = 0;
  #snapshot: SessionSnapshot | null = null;

  constructor(subject: WalkSubject, mode: AgentMode, leaseMs: number) {
    this.#subject = subject;
    this.#turns = fenced(subject.turns);
    this.#mode = mode;
    this.#leaseMs = leaseMs;
    this.#tail = new EventTail(subject.key.sessionId);
    this.#holders = [this.#newHolder(), this.#newHolder(), this.#newHolder()];
  }

  async batch(steps: readonly WalkStep[]): Promise<void> {
    const actors = new Set<string>();
    const parallel = steps.filter((step) => {
      const actor = 'holder' in step ? `holder ${step.holder}` : step.do;
      return !actors.has(actor) && actors.add(actor);
    });
    await Promise.all(parallel.map((step) => this.#tolerant(() => this.#step(step))));
    await this.#check();
  }

  /** Everything that was accepted ends, once, and clients are told so, once. */
  async drain(): Promise<SessionSnapshot> {
    await this.#subject.advance(this.#leaseMs * 1.1);
    for (let rounds = 0; ; rounds += 1) {
      if (rounds > 200) throw new Error('The session does not come to rest.');
      const worker = this.#newHolder();
      const claim = await worker.claim(this.#leaseMs);
      if (claim === null) {
        if ((await this.#check()).session.state !== 'WAITING') break;
        await this.#settle({ action: 'approve' }, false);
        continue;
      }
      if (claim.turn !== null) await this.#end(worker, 0);
      await worker.release();
    }
    const last = await this.#check();
    this.#checkRest(last);
    return last;
  }

  async #step(step: WalkStep): Promise<void> {
    switch (step.do) {
      case 'accept':
        return this.#accept(step.onBusy);
      case 'cancel': {
        const open = this.#snapshot?.turns.filter(({ status }) => !isTerminalStatus(status)) ?? [];
        const turnId = step.behind === 0 ? null : (open[step.behind]?.id ?? null);
        await this.#subject.clients.cancelTurn(this.#subject.key, { turnId }, null);
        return;
      }
      case 'settle':
        return this.#settle(step.decision, step.onlyFirst);
      case 'pass':
        return this.#subject.advance(this.#leaseMs * step.leases);
      case 'crash':
        this.#holders[step.holder] = this.#newHolder();
        return;
      case 'work':
        return this.#work(this.#holders[step.holder] ?? this.#newHolder(), step.act, step.pick);
    }
  }

  async #accept(onBusy: OnBusy): Promise<void> {
    this.#accepted += 1;
    const turnId = `${this.#subject.key.sessionId}_turn_${this.#accepted}`;
    this.#turnIds.push(turnId);
    try {
      await this.#subject.clients.acceptTurn(this.#subject.key, { turnId, text: `text of ${turnId}`, onBusy }, null);
    } catch (error) {
      this.#turnIds.splice(this.#turnIds.indexOf(turnId), 1);
      throw error;
    }
  }

  async #settle(decision: Decision, onlyFirst: boolean): Promise<void> {
    const interrupt = this.#snapshot?.session.interrupt ?? null;
    const approval = interrupt?.reason === 'tool_approval';
    const first = interrupt?.toolCalls[0]?.id;
    await this.#subject.clients.settleInterrupt(
      this.#subject.key,
      {
        interruptId: interrupt?.id ?? null,
        decisions: approval && onlyFirst && first !== undefined ? { [first]: decision } : {},
        others: approval && !onlyFirst ? decision : null,
        text: approval ? null : 'go on',
      },
      null,
    );
  }

  /** What a worker that keeps the rules would do; whether it still has the lease is for the store to say. */
  async #work(worker: TurnHolder, act: Act, pick: number): Promise<void> {
    if (act === 'claim') {
      await worker.claim(this.#leaseMs);
      return;
    }
    if (worker.claimed === null) return;
    if (act === 'renew') await worker.renew(this.#leaseMs);
    else if (act === 'adopt') await worker.adoptOutbox();
    else if (act === 'release') {
      await worker.release();
      this.#holders[this.#holders.indexOf(worker)] = this.#newHolder();
    } else if (worker.claimed.turn === null || worker.turn.status !== 'RUNNING') return;
    else await this.#runTurn(worker, act, pick);
  }

  async #runTurn(worker: TurnHolder, act: Act, pick: number): Promise<void> {
    if (worker.claimed?.forcedEnd != null) return this.#end(worker, pick);
    const open = worker.toolCalls.filter((call) => !isSettled(call));
    if (worker.turn.checkpoint === null) await worker.begin();
    else if (act === 'delta') worker.delta();
    else if (act === 'finish') await this.#end(worker, pick);
    else if (act === 'suspend') await this.#suspend(worker, open, pick);
    else if (open.length > 0) await this.#advanceCalls(worker, open, pick);
    else await worker.step(1 + (pick % 3));
  }

  async #advanceCalls(worker: TurnHolder, open: readonly ToolCall[], pick: number): Promise<void> {
    const planned = open.filter(({ state, decision }) => state === 'planned' && decision?.action !== 'reject');
    if (planned.length > 0) {
      await worker.start(planned.map(({ id }) => id));
      return;
    }
    const states: readonly SettledState[] = ['done', 'failed', 'unknown'];
    const call = open[pick % open.length];
    if (call !== undefined) await worker.outcome([call.id], states[pick % 3]);
  }

  async #suspend(worker: TurnHolder, open: readonly ToolCall[], pick: number): Promise<void> {
    const onExpire: OnExpire = (['reject', 'cancel', 'fail'] as const)[pick % 3] ?? 'reject';
    const ttlMs = pick % 2 === 0 ? this.#leaseMs : null;
    if (open.length === 0) await worker.suspend({ reason: 'idle', ttlMs: null });
    else if (open.every(({ state, decision }) => state === 'planned' && decision === null)) {
      await worker.suspend({ callIds: open.map(({ id }) => id), ttlMs, onExpire });
    }
  }

  async #end(worker: TurnHolder, pick: number): Promise<void> {
    const failed = { status: 'FAILED', error: { code: 'model_error', message: 'No.' } } as const;
    const outcome = worker.claimed?.forcedEnd ?? (pick % 4 === 1 ? failed : ({ status: 'COMPLETED' } as const));
    const text = pick % 4 === 2 ? '' : 'some text';
    const open = worker.toolCalls.some((call) => !isSettled(call));
    await worker.finish(outcome, { text: open ? '' : text, mode: this.#mode, extract: pick % 2 === 0 });
  }

  async #tolerant(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!REFUSALS.some((code) => isAppError(error, code))) throw error;
    }
  }

  async #check(): Promise<SessionSnapshot> {
    const after = await this.#subject.read(this.#turnIds);
    const violations = [
      ...sessionViolations(after),
      ...(this.#snapshot === null ? [] : progressViolations(this.#snapshot, after)),
    ];
    this.#snapshot = after;
    if (violations.length > 0) throw new AppError('internal', violations.join('; '), { details: { after } });
    return after;
  }

  #checkRest({ session, turns }: SessionSnapshot): void {
    const terminal: Partial<Record<TurnStatus, string>> = {
      COMPLETED: 'done',
      FAILED: 'error',
      CANCELLED: 'cancelled',
    };
    for (const { id, status } of turns) {
      const told = this.#tail.terminalEvents(id).join(' ');
      if (told !== terminal[status]) throw new Error(`Turn ${id} is ${status}; clients were told "${told}".`);
    }
    if (session.dueAt !== null)
      throw new Error(`All is done, and the sweeper goes on looking (dueAt ${session.dueAt}).`);
  }

  #newHolder(): TurnHolder {
    this.#holderCount += 1;
    return new TurnHolder(this.#turns, this.#subject.key, `worker ${this.#holderCount}`, this.#tail);
  }
}

/** The port, watched: a write that goes through although a higher token had been claimed before it began is an error. */
function fenced(turns: HolderPort): HolderPort {
  let newest = 0;
  async function watch<R>(token: number, write: Promise<R>): Promise<R> {
    const claimedBefore = newest;
    const result = await write;
    if (token < claimedBefore) throw new Error(`Zombie ${token} wrote although ${claimedBefore} had claimed.`);
    return result;
  }
  return {
    async claim(key, command) {
      const claim = await turns.claim(key, command);
      newest = Math.max(newest, claim?.lease.token ?? 0);
      return claim;
    },
    renew: (key, command) => watch(command.token, turns.renew(key, command)),
    adoptOutbox: (key, command) => watch(command.write.token, turns.adoptOutbox(key, command)),
    begin: (key, command) => watch(command.write.token, turns.begin(key, command)),
    recordStep: (key, command) => watch(command.write.token, turns.recordStep(key, command)),
    startCalls: (key, command) => watch(command.write.token, turns.startCalls(key, command)),
    recordOutcomes: (key, command) => watch(command.write.token, turns.recordOutcomes(key, command)),
    suspend: (key, command) => watch(command.write.token, turns.suspend(key, command)),
    finish: (key, command) => watch(command.write.token, turns.finish(key, command)),
    release: (key, command) => watch(command.write.token, turns.release(key, command)),
  };
}
