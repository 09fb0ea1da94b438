import type { Decided, SessionAggregate } from '../domain/aggregate.ts';
import { decideAccept } from '../domain/decide-accept.ts';
import { decideCancel } from '../domain/decide-cancel.ts';
import { type Claim, type ClaimCommand, decideClaim } from '../domain/decide-claim.ts';
import { decideFinish } from '../domain/decide-finish.ts';
import { decideAdoptOutbox, decideRelease, decideRenew } from '../domain/decide-lease.ts';
import { decideBegin, decideRecordOutcomes, decideRecordStep, decideStartCalls } from '../domain/decide-progress.ts';
import { decideSettle } from '../domain/decide-settle.ts';
import { decideSuspend } from '../domain/decide-suspend.ts';
import { AppError, leaseLost } from '../domain/errors.ts';
import type { SessionKey } from '../domain/tenant.ts';
import type { IdempotencyKey, Replayable, SessionStore } from '../ports/session-store.ts';
import type { TurnStore } from '../ports/turn-store.ts';

/** One write to one session. */
export interface SessionUpdate<R> {
  readonly key: SessionKey;
  /** Called with what is stored and the time on the store's clock. May be called again when another write came first. */
  readonly decide: (aggregate: SessionAggregate, now: number) => Decided<R>;
  /** What to answer, or to throw, when the tenant has no such session. */
  readonly absent: () => R;
  readonly idempotency: IdempotencyKey | null;
}

/**
 * The heart of a store, and all that an adapter has to bring for the methods below: loads the aggregate, lets it be
 * decided, and stores the change together with the idempotency key's answer, all of it or nothing.
 */
export type UpdateSession = <R>(update: SessionUpdate<R>) => Promise<Replayable<R>>;

type Decision<C, R> = (aggregate: SessionAggregate, command: C, now: number) => Decided<R>;

/** The methods of a SessionStore that are decisions of the domain. */
export function decidedSessions(
  update: UpdateSession,
): Pick<SessionStore, 'acceptTurn' | 'settleInterrupt' | 'cancelTurn'> {
  const by =
    <C, R>(decide: Decision<C, R>) =>
    (key: SessionKey, command: C, idempotency: IdempotencyKey | null): Promise<Replayable<R>> =>
      update<R>({
        key,
        decide: (aggregate, now) => decide(aggregate, command, now),
        absent: () => {
          throw new AppError('not_found', `There is no session ${key.sessionId}.`);
        },
        idempotency,
      });
  return { acceptTurn: by(decideAccept), settleInterrupt: by(decideSettle), cancelTurn: by(decideCancel) };
}

/** The methods of a TurnStore that are decisions of the domain. A session that is gone took its lease with it. */
export function decidedTurns(update: UpdateSession): Omit<TurnStore, 'history' | 'takeDue'> {
  const by =
    <C, R>(decide: Decision<C, R>, tokenOf: (command: C) => number) =>
    async (key: SessionKey, command: C): Promise<R> => {
      const { value } = await update<R>({
        key,
        decide: (aggregate, now) => decide(aggregate, command, now),
        absent: () => {
          throw leaseLost(key.sessionId, tokenOf(command));
        },
        idempotency: null,
      });
      return value;
    };
  const byHolder = <C extends { readonly write: { readonly token: number } }, R>(decide: Decision<C, R>) =>
    by(decide, ({ write }) => write.token);
  return {
    claim: (key, command) => claim(update, key, command),
    renew: by(decideRenew, ({ token }) => token),
    adoptOutbox: byHolder(decideAdoptOutbox),
    begin: byHolder(decideBegin),
    recordStep: byHolder(decideRecordStep),
    startCalls: byHolder(decideStartCalls),
    recordOutcomes: byHolder(decideRecordOutcomes),
    suspend: byHolder(decideSuspend),
    finish: byHolder(decideFinish),
    release: byHolder(decideRelease),
  };
}

async function claim(update: UpdateSession, key: SessionKey, command: ClaimCommand): Promise<Claim | null> {
  const { value } = await update<Claim | null>({
    key,
    decide: (aggregate, now) => decideClaim(aggregate, command, now),
    absent: () => null,
    idempotency: null,
  });
  return value;
}
