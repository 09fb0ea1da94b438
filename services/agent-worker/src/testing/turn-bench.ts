import { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import { coversTool } from '@turnwire/shared/domain/agent';
import type { SessionEvent } from '@turnwire/shared/domain/event';
import type { Message } from '@turnwire/shared/domain/message';
import type { Session } from '@turnwire/shared/domain/session';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { ToolCall } from '@turnwire/shared/domain/tool-call';
import type { OnBusy, Turn } from '@turnwire/shared/domain/turn';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import type { Tool } from '@turnwire/shared/ports/tool';
import { createAgentRuntimes } from '../agent-runtimes.ts';
import type { Hold } from '../hold.ts';
import { createEngine } from '../react/engine.ts';
import { runTurn } from '../run-turn.ts';
import type { WorkerDependencies } from '../worker-dependencies.ts';

const TENANT = 'acme';
export const LEASE_MS = 9_000;

/** A worker that runs what it is told to, without a queue that wakes it. */
export interface BenchWorker {
  readonly holds: ReadonlySet<Hold>;
  run(key: SessionKey): Promise<void>;
}

/** What the worker is made of; the adapters come from the test. */
export type BenchParts = Omit<WorkerDependencies, 'embedder' | 'hooks' | 'options'> &
  Partial<Pick<WorkerDependencies, 'hooks' | 'embedder'>> & {
    readonly tools?: readonly Tool[];
    readonly holder?: string;
  };

export function createBenchWorker(parts: BenchParts): BenchWorker {
  const { tools = [], holder = 'worker', hooks = {}, embedder = null } = parts;
  const options = {
    holder,
    workerConcurrency: 1,
    leaseMs: LEASE_MS,
    sweepMs: 1000,
    drainMs: 1000,
    toolsAllowPrivate: false,
    toolsAllowStdio: false,
    recordedWeather: false,
  };
  const worker: WorkerDependencies = { ...parts, hooks, embedder, options };
  const toolbox = {
    tools: async (_: string, patterns: readonly string[]) =>
      tools.filter(({ definition }) => coversTool(patterns, definition.name)),
    close: async () => undefined,
  };
  const runtimes = createAgentRuntimes(worker.store.agents, worker.clock, (agent) =>
    createEngine({ ...worker, toolbox }, agent),
  );
  const holds = new Set<Hold>();
  const onHold = (hold: Hold) => {
    holds.add(hold);
    return () => holds.delete(hold);
  };
  return { holds, run: (key) => runTurn({ worker, runtimes, onHold }, key) };
}

/** What clients do, and what they find. */
export interface BenchClient {
  readonly key: SessionKey;
  accept(text: string, onBusy?: OnBusy): Promise<Turn>;
  cancel(): Promise<void>;
  session(): Promise<Session>;
  turn(id: string): Promise<Turn>;
  messages(): Promise<readonly Message[]>;
  toolCalls(turnId: string): Promise<readonly ToolCall[]>;
  /** All that is in the log. */
  events(): Promise<readonly SessionEvent[]>;
}

type BenchStores = Pick<WorkerDependencies, 'store' | 'ids'> & { readonly bus: EventBus };

/** An agent with these settings and a new session with it. */
export async function openBenchSession({ store, bus, ids }: BenchStores, settings: object = {}): Promise<BenchClient> {
  await store.agents.put(TENANT, 'agent', agentSettingsSchema.parse({ memory: { recall: false }, ...settings }));
  const input = { id: ids.next('ses'), tenantId: TENANT, userId: 'ada', agentId: 'agent', metadata: {} };
  const { value: session } = await store.sessions.create(input, null);
  const key: SessionKey = { tenantId: TENANT, sessionId: session.id };
  return {
    key,
    async accept(text, onBusy = 'enqueue') {
      const { value } = await store.sessions.acceptTurn(key, { turnId: ids.next('turn'), text, onBusy }, null);
      bus.nudge(key);
      return value.turn;
    },
    async cancel() {
      await store.sessions.cancelTurn(key, { turnId: null }, null);
      bus.nudge(key);
    },
    session: async () => found(await store.sessions.get(key)),
    turn: async (id) => found(await store.sessions.turn(TENANT, id)),
    messages: async () => found(await store.sessions.messages(key, { limit: 200, cursor: null })).items,
    toolCalls: (turnId) => store.sessions.toolCalls(TENANT, turnId),
    async events() {
      const events: SessionEvent[] = [];
      for await (const page of bus.replay(key, 0)) events.push(...page);
      return events;
    },
  };
}

function found<T>(value: T | null): T {
  if (value === null) throw new Error('What the test looks for is not there.');
  return value;
}
