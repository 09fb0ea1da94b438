import { isAppError } from '@turnwire/shared/domain/errors';
import { eventId } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { Turn } from '@turnwire/shared/domain/turn';
import { NO_USAGE } from '@turnwire/shared/domain/usage';
import type { Store } from '@turnwire/shared/ports/store';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import type { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { describe, expect, test } from 'vitest';
import { exampleMemory } from './example-memory.ts';
import { LEASE_MS, StoreFixture } from './fixture.ts';

/** What one tenant has, as a caller of some tenant names it. */
interface Target {
  readonly store: Store;
  readonly tenantId: string;
  readonly user: { readonly tenantId: string; readonly userId: string };
  /** A session that waits for a decision. */
  readonly waiting: SessionKey;
  readonly waitingTurnId: string;
  /** A session that a holder runs, with one planned call; and one that is queued. */
  readonly held: SessionKey;
  readonly queued: SessionKey;
  readonly holder: TurnHolder;
  /** A completed turn that owes an extraction. */
  readonly owing: Turn;
}

const page = { limit: 10, cursor: null };
const text = { turnId: 'turn_x', text: 'x', onBusy: 'enqueue' } as const;
const message = { id: 'msg_x', role: 'user', content: 'x' } as const;
const checkpoint = { version: 1, systemPrompt: '', memoryIds: [], reminders: [] } as const;
const suspension = {
  interruptId: 'i',
  reason: 'idle',
  beforeNodes: ['model'],
  callIds: [],
  ttlMs: null,
  onExpire: 'fail',
} as const;
const ending = { outcome: { status: 'COMPLETED' }, usage: NO_USAGE, mode: 'conversation', extract: false } as const;
const answer = { messageId: 'msg_y', text: 'y', truncated: false };
const approval = { interruptId: null, decisions: {}, others: { action: 'approve' }, text: null } as const;

/** Every method that names a tenant and something that it has. */
const probes: Record<string, (target: Target) => Promise<unknown>> = {
  'sessions.get': ({ store, waiting }) => store.sessions.get(waiting),
  'sessions.list': ({ store, tenantId }) => store.sessions.list({ ...page, tenantId, userId: null, state: null }),
  'sessions.list (of a user)': ({ store, user }) => store.sessions.list({ ...page, ...user, state: null }),
  'sessions.list (by state)': ({ store, user }) => store.sessions.list({ ...page, ...user, state: 'WAITING' }),
  'sessions.delete': ({ store, waiting }) => store.sessions.delete(waiting),
  'sessions.messages': ({ store, waiting }) => store.sessions.messages(waiting, page),
  'sessions.turn': ({ store, tenantId, waitingTurnId }) => store.sessions.turn(tenantId, waitingTurnId),
  'sessions.toolCalls': ({ store, tenantId, waitingTurnId }) => store.sessions.toolCalls(tenantId, waitingTurnId),
  'sessions.acceptTurn': ({ store, waiting }) => store.sessions.acceptTurn(waiting, text, null),
  'sessions.settleInterrupt': ({ store, waiting }) => store.sessions.settleInterrupt(waiting, approval, null),
  'sessions.cancelTurn': ({ store, waiting }) => store.sessions.cancelTurn(waiting, { turnId: null }, null),
  'turns.claim': ({ store, queued }) => store.turns.claim(queued, { holder: 'thief', leaseMs: LEASE_MS }),
  'turns.renew': ({ store, held, holder }) => store.turns.renew(held, { token: holder.token, leaseMs: LEASE_MS }),
  'turns.adoptOutbox': ({ store, held, holder: { write } }) =>
    store.turns.adoptOutbox(held, { write: { ...write, publishedId: 0 } }),
  'turns.begin': async ({ store, queued }) => {
    const claim = await store.turns.claim(queued, { holder: 'thief', leaseMs: LEASE_MS });
    const token = claim?.lease.token ?? 1;
    const write = { token, nextEventId: eventId(token, 9), publishedId: 0 };
    const turnId = claim?.turn?.id ?? 'turn_x';
    return store.turns.begin(queued, { write, turnId, agentRevision: 2, userMessage: message, checkpoint });
  },
  'turns.recordStep': ({ store, held, holder: { write, turn } }) =>
    store.turns.recordStep(held, {
      write,
      turnId: turn.id,
      step: 2,
      message: { id: 'm', content: '' },
      calls: [],
      usage: NO_USAGE,
    }),
  'turns.startCalls': ({ store, held, holder: { write, turn, toolCalls } }) =>
    store.turns.startCalls(held, { write, turnId: turn.id, calls: toolCalls }),
  'turns.recordOutcomes': ({ store, held, holder: { write, turn, toolCalls } }) => {
    const outcome = { messageId: 'm', state: 'done', content: 'c', shown: 'c', truncated: false } as const;
    const outcomes = toolCalls.map(({ id: callId }) => ({ callId, ...outcome }));
    return store.turns.recordOutcomes(held, { write, turnId: turn.id, outcomes });
  },
  'turns.suspend': ({ store, held, holder: { write, turn } }) =>
    store.turns.suspend(held, { write, turnId: turn.id, ...suspension }),
  'turns.finish': ({ store, held, holder: { write, turn } }) =>
    store.turns.finish(held, { write, turnId: turn.id, answer, ...ending }),
  'turns.release': ({ store, held, holder: { write } }) => store.turns.release(held, { write }),
  'turns.history': ({ store, held }) => store.turns.history(held, { maxMessages: 10, maxChars: 1000 }),
  'agents.get': ({ store, tenantId }) => store.agents.get(tenantId, 'support'),
  'agents.getRevision': ({ store, tenantId }) => store.agents.getRevision(tenantId, 'support', 1),
  'agents.list': ({ store, tenantId }) => store.agents.list(tenantId, page),
  'agents.delete': ({ store, tenantId }) => store.agents.delete(tenantId, 'support'),
  'tools.get': ({ store, tenantId }) => store.tools.get(tenantId, 'search'),
  'tools.list': ({ store, tenantId }) => store.tools.list(tenantId, page),
  'tools.delete': ({ store, tenantId }) => store.tools.delete(tenantId, 'search'),
  'mcpServers.get': ({ store, tenantId }) => store.mcpServers.get(tenantId, 'files'),
  'mcpServers.list': ({ store, tenantId }) => store.mcpServers.list(tenantId, page),
  'mcpServers.delete': ({ store, tenantId }) => store.mcpServers.delete(tenantId, 'files'),
  'memories.get': ({ store, tenantId }) => store.memories.get(tenantId, 'mem_1'),
  'memories.list': ({ store, user }) => store.memories.list(user, page),
  'memories.valid': ({ store, user }) => store.memories.valid(user, 10),
  'memories.update': ({ store, tenantId }) => store.memories.update(tenantId, 'mem_1', { text: 'mine' }),
  'memories.delete': ({ store, tenantId }) => store.memories.delete(tenantId, 'mem_1'),
  'memories.deleteAll': ({ store, user }) => store.memories.deleteAll(user),
  'extractions.next': ({ store, user }) => store.extractions.next(user),
  'extractions.complete': ({ store, owing }) => store.extractions.complete(owing, { added: [], closed: [] }),
  'extractions.giveUp': ({ store, owing }) => store.extractions.giveUp(owing),
};

export function tenantCases(make: MakeStore): void {
  describe('another tenant', () => {
    const given = new StoreFixture(make);

    /** One of everything that a tenant can have. */
    async function furnish(): Promise<Target> {
      const { store } = given;
      const done = await given.session();
      await given.accept(done);
      const first = await given.running(done);
      await first.complete('Noted.', { extract: true });
      const waiting = await given.waiting(1);
      const held = await given.session();
      await given.accept(held);
      const holder = await given.running(held);
      await holder.step(1);
      const queued = await given.session();
      await given.accept(queued);
      await store.agents.put('acme', 'support', { name: 'Support' } as never); // the store does not look into these
      await store.tools.put('acme', 'search', { name: 'search' } as never);
      await store.mcpServers.put('acme', 'files', { name: 'files' } as never);
      await store.memories.add(exampleMemory({ id: 'mem_1' }), null);
      const owing = await given.turn('acme', first.turn.id);
      const user = { tenantId: 'acme', userId: 'ann' };
      return {
        store,
        tenantId: 'acme',
        user,
        waiting: waiting.key,
        waitingTurnId: waiting.turnId,
        held,
        queued,
        holder,
        owing,
      };
    }

    function asTenant(target: Target, tenantId: string): Target {
      const { user, waiting, held, queued, owing } = target;
      return {
        ...target,
        tenantId,
        user: { ...user, tenantId },
        waiting: { ...waiting, tenantId },
        held: { ...held, tenantId },
        queued: { ...queued, tenantId },
        owing: { ...owing, tenantId },
      };
    }

    async function everything({ store, user, waiting, held, queued, waitingTurnId, owing }: Target) {
      const found: unknown[] = [
        await store.agents.getRevision('acme', 'support', 1),
        await store.tools.get('acme', 'search'),
        await store.mcpServers.get('acme', 'files'),
        await store.memories.list(user, page),
        await store.extractions.next(user),
        await store.sessions.turn('acme', owing.id),
        await store.sessions.turn('acme', waitingTurnId),
        await store.sessions.toolCalls('acme', waitingTurnId),
      ];
      for (const key of [waiting, held, queued]) found.push(await store.sessions.get(key), await given.messages(key));
      return found;
    }

    test.each(Object.keys(probes))('sees and changes nothing by %s', async (name) => {
      const target = await furnish();
      const before = await everything(target);
      const outcome = await outcomeOf(probes[name]!(asTenant(target, 'globex')));
      expect(outcome).toBe('nothing');
      expect(await everything(target)).toEqual(before);
    });

    test.each(Object.keys(probes))('may not, where the tenant itself does something by %s', async (name) => {
      expect(await outcomeOf(probes[name]!(await furnish()))).toBe('something');
    });

    test('may use the same ids', async () => {
      const keys = ['acme', 'globex'].map((tenantId) => ({ tenantId, sessionId: 'ses_same' }));
      for (const key of keys) {
        const { tenantId, sessionId: id } = key;
        await given.store.sessions.create({ id, tenantId, userId: 'ann', agentId: 'a', metadata: { tenantId } }, null);
        await given.store.sessions.acceptTurn(key, { ...text, turnId: 'turn_same', text: `of ${tenantId}` }, null);
        await given.store.memories.add(exampleMemory({ id: 'mem_same', tenantId, text: tenantId }), null);
      }
      for (const { tenantId } of keys) {
        expect((await given.turn(tenantId, 'turn_same')).text).toBe(`of ${tenantId}`);
        expect((await given.store.memories.get(tenantId, 'mem_same'))?.text).toBe(tenantId);
      }
      await given.store.sessions.delete(keys[1]!);
      expect(await given.store.sessions.turn('globex', 'turn_same')).toBeNull();
      expect((await given.turn('acme', 'turn_same')).text).toBe('of acme');
    });
  });
}

/** Whether a call answered data or did something, or neither. Throws what is no refusal. */
async function outcomeOf(call: Promise<unknown>): Promise<'something' | 'nothing'> {
  const outcome = await call.catch((error: unknown) => {
    if (isAppError(error, 'not_found') || isAppError(error, 'lease_lost')) return null;
    throw error;
  });
  const empty: readonly unknown[] = ['null', 'false', '0', '[]', '{"items":[],"nextCursor":null}'];
  return empty.includes(JSON.stringify(outcome)) ? 'nothing' : 'something';
}
