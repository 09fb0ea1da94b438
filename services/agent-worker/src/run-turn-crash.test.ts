import { validateConversation } from '@turnwire/demo-model/validate-conversation';
import type { LanguageModel, ModelRequest } from '@turnwire/shared/ports/language-model';
import type { Tool, ToolCallContext } from '@turnwire/shared/ports/tool';
import { ClientView } from '@turnwire/shared/testing/client-view';
import { type EmbeddedAdapters, makeEmbeddedAdapters } from '@turnwire/shared/testing/embedded-adapters';
import { createLifeline, type Fate, type Lifeline } from '@turnwire/shared/testing/lifeline';
import {
  calls,
  createScriptedModel,
  type ScriptedReply,
  says,
  untilAborted,
} from '@turnwire/shared/testing/scripted-model';
import { sessionViolations } from '@turnwire/shared/testing/session-invariants';
import { describe, expect, test } from 'vitest';
import { toChatMessages } from './testing/chat-messages.ts';
import {
  type BenchClient,
  type BenchWorker,
  createBenchWorker,
  LEASE_MS,
  openBenchSession,
} from './testing/turn-bench.ts';

// A worker that dies, or stands still for longer than its lease, at each call of a port that it makes in a turn, before
// or after the call took effect. Another one then brings the turn to its end, whatever that was.

interface Scenario {
  readonly name: string;
  readonly agent: object;
  readonly reply: (request: ModelRequest, cancel: () => Promise<void>) => ScriptedReply;
  /** Null: a client cancels the turn. */
  readonly answer: string | null;
}

const TWO_CALLS = calls({ name: 'send_email', arguments: { to: 'bob' } }, { name: 'get_weather' });

/** The text, then the client's cancel, and no end. */
function thenCancels(text: string, cancel: () => Promise<void>): ScriptedReply {
  return async function* (signal) {
    yield* says(text).filter(({ type }) => type === 'text');
    await cancel();
    await untilAborted(signal);
  };
}

function afterTools({ messages }: ModelRequest, first: ScriptedReply, answer: string): ScriptedReply {
  return messages.at(-1)?.role === 'tool' ? says(answer) : first;
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'a plain turn', agent: {}, reply: () => says('Hello, Ada.'), answer: 'Hello, Ada.' },
  {
    name: 'a turn with two parallel tools',
    agent: { tools: ['send_email', 'get_weather'] },
    reply: (request) => afterTools(request, [{ type: 'text', text: 'Wait. ' }, ...TWO_CALLS], 'Sent, and sunny.'),
    answer: 'Sent, and sunny.',
  },
  {
    name: 'a turn that needs an approval',
    agent: { tools: ['send_email', 'get_weather'], approval: { tools: ['send_email'] } },
    reply: (request) => afterTools(request, TWO_CALLS, 'Sent, as you said.'),
    answer: 'Sent, as you said.',
  },
  {
    name: 'a turn that is cancelled in mid-stream',
    agent: {},
    reply: (_, cancel) => thenCancels('I will never', cancel),
    answer: null,
  },
];

interface ToolRun {
  readonly key: string;
  readonly tool: string;
  readonly worker: string;
}

/** One machine room: what outlives a worker. */
class Room {
  readonly runs: ToolRun[] = [];
  readonly requests: ModelRequest[] = [];
  /** What the client does in the middle of the model's answer. */
  cancel = async (): Promise<void> => undefined;
  readonly #adapters: EmbeddedAdapters;
  readonly #scenario: Scenario;

  constructor(adapters: EmbeddedAdapters, scenario: Scenario) {
    this.#adapters = adapters;
    this.#scenario = scenario;
  }

  /** A worker whose every way to the outside hangs on the lifeline. */
  worker(holder: string, lifeline: Lifeline, bus = this.#adapters.bus): BenchWorker {
    const { store, queue, clock, ids, log, metrics } = this.#adapters;
    return createBenchWorker({
      holder,
      store: lifeline.port('store', store),
      queue: lifeline.port('queue', queue),
      bus: lifeline.port('bus', bus),
      model: lifeline.port<LanguageModel>('model', this.#model()),
      clock: lifeline.clock(clock),
      tools: [this.#tool('send_email', false, holder, lifeline), this.#tool('get_weather', true, holder, lifeline)],
      ids,
      log,
      metrics,
    });
  }

  #model(): LanguageModel {
    return createScriptedModel((request) => {
      this.requests.push(request);
      return this.#scenario.reply(request, this.cancel);
    });
  }

  #tool(name: string, idempotent: boolean, worker: string, lifeline: Lifeline): Tool {
    return {
      definition: { name, description: name, parameters: { type: 'object' } },
      idempotent,
      timeoutMs: null,
      run: (_, { idempotencyKey }: ToolCallContext) =>
        lifeline.call(`tool ${name}`, async () => {
          this.runs.push({ key: idempotencyKey, tool: name, worker });
          return `${name} did it`;
        }),
    };
  }
}

/** Plays clients, sweeper and clock around one worker until the session is at rest or the worker stands. */
async function playOn(adapters: EmbeddedAdapters, client: BenchClient, worker: BenchWorker, lifeline: Lifeline) {
  for (let round = 0; round < 20; round += 1) {
    const { state, dueAt, interrupt } = await client.session();
    if (state === 'WAITING' && interrupt !== null) {
      const settle = { interruptId: interrupt.id, decisions: {}, others: { action: 'approve' }, text: null } as const;
      await adapters.store.sessions.settleInterrupt(client.key, settle, null);
    } else if (dueAt === null) {
      return;
    } else {
      await adapters.clock.advance(Math.max(0, dueAt - adapters.clock.now()));
    }
    await Promise.race([worker.run(client.key), lifeline.stopped]);
    if (lifeline.isStopped) return;
  }
  throw new Error('The session does not come to rest.');
}

async function expectIntact(
  { store, bus }: EmbeddedAdapters,
  client: BenchClient,
  room: Room,
  view: ClientView,
  turnId: string,
  answer: string | null,
) {
  const session = await client.session();
  const turn = await client.turn(turnId);
  const messages = await client.messages();
  const toolCalls = await store.sessions.toolCalls(session.tenantId, turnId);
  expect(sessionViolations({ session, turns: [turn], messages, toolCalls })).toEqual([]);
  expect(session).toMatchObject({ state: 'IDLE', outbox: [], dueAt: null });

  // G1, G6: it ended once, and said so once.
  const end = answer === null ? 'cancelled' : 'done';
  expect(turn.status).toBe(answer === null ? 'CANCELLED' : 'COMPLETED');
  expect(view.terminalEvents(turnId).map(({ type }) => type)).toEqual([end]);
  expect(view.events.at(-1)?.type).toBe(end);

  // G3: whatever a model was sent, it would take.
  for (const request of room.requests) expect(validateConversation(toChatMessages(request.messages))).toEqual([]);

  // G4: no call that may not run twice did.
  const emails = room.runs.filter(({ tool }) => tool === 'send_email');
  expect(new Set(emails.map(({ key }) => key)).size).toBe(emails.length);
  for (const { idempotencyKey, result, state } of toolCalls) {
    const ran = room.runs.filter(({ key }) => key === idempotencyKey).length;
    if (state === 'done') expect(ran).toBeGreaterThanOrEqual(1);
    expect(result).not.toBeNull();
  }

  // G5: what a client kept is what is stored, whether it was there from the beginning or comes after the end.
  const stored = messages.filter(({ role, content }) => role === 'assistant' && content !== '');
  if (answer !== null) expect(stored.at(-1)?.content).toBe(answer);
  const late = new ClientView(client.key);
  await late.follow(bus);
  for (const each of [view, late]) expect(each.textsOf(turnId)).toEqual(stored.map(({ content }) => content));
}

async function dryRun(scenario: Scenario): Promise<readonly string[]> {
  const adapters = await makeEmbeddedAdapters();
  try {
    const lifeline = createLifeline();
    const room = new Room(adapters, scenario);
    const client = await openBenchSession(adapters, scenario.agent);
    const view = new ClientView(client.key);
    await view.follow(adapters.bus);
    room.cancel = client.cancel;
    const { id } = await client.accept('Hello');
    await playOn(adapters, client, room.worker('only', lifeline), lifeline);
    await expectIntact(adapters, client, room, view, id, scenario.answer);
    expect((await client.turn(id)).attempt).toBe(1);
    return lifeline.calls;
  } finally {
    await adapters.close();
  }
}

interface Casualty {
  readonly fate: Fate;
  /** Whether the bus goes down with the worker, as in one process, or is a server of its own. */
  readonly bus: 'lost' | 'kept';
}

async function live(scenario: Scenario, { fate, bus }: Casualty) {
  const adapters = await makeEmbeddedAdapters();
  try {
    const lifeline = createLifeline(fate);
    const room = new Room(adapters, scenario);
    const client = await openBenchSession(adapters, scenario.agent);
    const view = new ClientView(client.key);
    const firstBus =
      bus === 'kept' ? adapters.bus : adapters.openBus(mortalLog(adapters, lifeline), lifeline.clock(adapters.clock));
    await view.follow(firstBus);
    room.cancel = async () => {
      await client.cancel();
      firstBus.nudge(client.key);
    };
    const { id } = await client.accept('Hello');
    await playOn(adapters, client, room.worker('first', lifeline, firstBus), lifeline);
    expect(lifeline.isStopped).toBe(true);
    const openCalls = await client.toolCalls(id);
    const ranBefore = room.runs.length;
    if (bus === 'lost') await view.follow(adapters.bus);

    await adapters.clock.advance(LEASE_MS + 1);
    const second = createLifeline();
    await playOn(adapters, client, room.worker('second', second), second);
    if (fate.kind === 'stalls') {
      const seen = view.events.length;
      lifeline.wake();
      await adapters.clock.advance(3 * LEASE_MS);
      expect(view.events.slice(seen)).toEqual([]);
    }
    await expectIntact(adapters, client, room, view, id, scenario.answer);

    // G4, the other half: what was settled or may not run again did not.
    const again = room.runs.slice(ranBefore).filter(({ worker }) => worker === 'second');
    for (const call of openCalls.filter(({ state }) => state !== 'planned' && state !== 'waiting')) {
      const isRepeatable = call.state === 'started' && call.name === 'get_weather';
      expect(again.filter(({ key }) => key === call.idempotencyKey)).toHaveLength(isRepeatable ? 1 : 0);
    }
  } finally {
    await adapters.close();
  }
}

/** The log of a process that dies with it. */
function mortalLog({ eventLog }: EmbeddedAdapters, lifeline: Lifeline): EmbeddedAdapters['eventLog'] {
  return {
    ...eventLog,
    write(batch) {
      if (!lifeline.isStopped) eventLog.write(batch);
    },
  };
}

describe.each(SCENARIOS)('$name', async (scenario) => {
  const names = await dryRun(scenario);

  test('is not trivial', () => {
    expect(names.length).toBeGreaterThan(8);
  });

  test.each([
    { kind: 'dies', bus: 'kept', when: 'before' },
    { kind: 'dies', bus: 'kept', when: 'after' },
    { kind: 'dies', bus: 'lost', when: 'before' },
    { kind: 'dies', bus: 'lost', when: 'after' },
    { kind: 'stalls', bus: 'kept', when: 'before' },
    { kind: 'stalls', bus: 'kept', when: 'after' },
  ] as const)(
    'its worker $kind $when any of its calls, the bus is $bus',
    async ({ kind, bus, when }) => {
      for (let at = 1; at <= names.length; at += 1) {
        try {
          await live(scenario, { fate: { at, when, kind }, bus });
        } catch (error) {
          throw new Error(`${when} call ${at} (${names[at - 1]}): ${String(error)}`, { cause: error });
        }
      }
    },
    120_000,
  );
});
