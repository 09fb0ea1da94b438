import { leaseLost, unavailable } from '@turnwire/shared/domain/errors';
import { MAX_ATTEMPTS } from '@turnwire/shared/domain/turn';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import { ClientView } from '@turnwire/shared/testing/client-view';
import { type EmbeddedAdapters, makeEmbeddedAdapters } from '@turnwire/shared/testing/embedded-adapters';
import { createLifeline } from '@turnwire/shared/testing/lifeline';
import {
  breaks,
  calls,
  createScriptedModel,
  inOrder,
  type ScriptedModel,
  type ScriptedReply,
  says,
  thenHangs,
} from '@turnwire/shared/testing/scripted-model';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type BenchClient,
  type BenchParts,
  createBenchWorker,
  LEASE_MS,
  openBenchSession,
} from './testing/turn-bench.ts';

let adapters: EmbeddedAdapters;
beforeEach(async () => {
  adapters = await makeEmbeddedAdapters();
});
afterEach(() => adapters.close());

const settle = () => adapters.clock.advance(0);

function modelOf(...replies: readonly ScriptedReply[]): ScriptedModel {
  return createScriptedModel(inOrder(...replies));
}

function workerWith(parts: Partial<BenchParts> & Pick<BenchParts, 'model'>) {
  return createBenchWorker({ ...adapters, ...parts });
}

async function types(client: BenchClient): Promise<readonly string[]> {
  return (await client.events()).map(({ type }) => type);
}

async function approveAll(client: BenchClient): Promise<void> {
  const approve = { interruptId: null, decisions: {}, others: { action: 'approve' }, text: null } as const;
  await adapters.store.sessions.settleInterrupt(client.key, approve, null);
}

/** The session is at rest, nobody holds it, and nobody will have to come. */
async function expectAtRest(client: BenchClient): Promise<void> {
  expect(await client.session()).toMatchObject({ dueAt: null, outbox: [], lease: { holder: null } });
}

describe('a turn', () => {
  test('is begun with the expanded prompt, and its session is at rest after it', async () => {
    const model = modelOf(says('Hello.'));
    const client = await openBenchSession(adapters, {
      systemPrompt: 'You help {{user_id}} of {{tenant_id}}, {{time}}.',
    });
    await client.accept('Hi');
    await workerWith({ model }).run(client.key);
    expect(model.requests[0]?.messages[0]).toEqual({
      role: 'system',
      content: 'You help ada of acme, 2026-01-01T00:00:00.000Z.',
    });
    await expectAtRest(client);
    expect(await adapters.queue.counts('extraction')).toMatchObject({ waiting: 1 });
    expect(adapters.metrics.counted).toContain('turnEnded COMPLETED');
  });

  test('wakes a worker for the one that is queued behind it', async () => {
    const client = await openBenchSession(adapters);
    const worker = workerWith({ model: modelOf(says('One.'), says('Two.')) });
    await client.accept('first');
    const second = await client.accept('second');
    await worker.run(client.key);
    expect(await client.turn(second.id)).toMatchObject({ status: 'QUEUED' });
    expect(await adapters.queue.counts('turn')).toMatchObject({ waiting: 1 });
    await worker.run(client.key);
    expect(await client.turn(second.id)).toMatchObject({ status: 'COMPLETED' });
    await expectAtRest(client);
  });

  test('with nothing to do leaves the session alone', async () => {
    const client = await openBenchSession(adapters);
    await workerWith({ model: modelOf() }).run(client.key);
    expect((await client.session()).lease.token).toBe(0);
    await workerWith({ model: modelOf() }).run({ ...client.key, sessionId: 'ses_unknown' });
  });

  test('whose agent is gone fails', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    await adapters.store.agents.delete(client.key.tenantId, 'agent');
    await workerWith({ model: modelOf() }).run(client.key);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'FAILED', error: { code: 'agent_not_found' } });
    await expectAtRest(client);
  });

  test('that takes longer than its agent allows fails, with what it had said', async () => {
    const client = await openBenchSession(adapters, { turnTimeoutMs: 20_000 });
    const turn = await client.accept('Hi');
    const model = modelOf(thenHangs({ type: 'text', text: 'Let me see' }));
    const done = workerWith({ model }).run(client.key);
    await adapters.clock.advance(19_999);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'RUNNING' });
    await adapters.clock.advance(1);
    await done;
    expect(model.open).toBe(0);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'FAILED', error: { code: 'turn_timeout' } });
    expect((await client.messages()).at(-1)).toMatchObject({ content: 'Let me see', status: 'partial' });
  });

  test('counts the time under its leases, and not that of waiting for a person', async () => {
    const slow = createScriptedTool('slow', () => adapters.clock.sleep(15_000).then(() => 'at last'));
    const send = createScriptedTool('send', () => 'sent');
    const tools = [slow, send];
    const client = await openBenchSession(adapters, {
      tools: ['slow', 'send'],
      approval: { tools: ['send'] },
      turnTimeoutMs: 20_000,
    });
    const turn = await client.accept('Hi');
    const model = modelOf(calls({ name: 'slow' }), calls({ name: 'send' }), thenHangs());
    const worker = workerWith({ model, tools });
    const first = worker.run(client.key);
    await adapters.clock.advance(15_000);
    await first;
    await adapters.clock.advance(60_000);
    await approveAll(client);
    const second = worker.run(client.key);
    await adapters.clock.advance(4_999);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'RUNNING' });
    await adapters.clock.advance(1);
    await second;
    expect(await client.turn(turn.id)).toMatchObject({ status: 'FAILED', error: { code: 'turn_timeout' } });
  });

  test('of a task ends its session, also by failing', async () => {
    const client = await openBenchSession(adapters, { mode: 'task' });
    const first = await client.accept('Do it');
    const second = await client.accept('And that');
    await workerWith({ model: modelOf(breaks({ retry: false })) }).run(client.key);
    expect(await client.session()).toMatchObject({ state: 'FAILED' });
    expect(await client.turn(first.id)).toMatchObject({ status: 'FAILED' });
    expect(await client.turn(second.id)).toMatchObject({ status: 'CANCELLED' });
    expect(await types(client)).toEqual(['turn.started', 'step.started', 'error', 'cancelled']);
    await expectAtRest(client);
  });

  test('that is taken up again still knows what it was asked, however much came after', async () => {
    const dump = createScriptedTool('dump', () => 'x'.repeat(99_000));
    const send = createScriptedTool('send', () => 'sent');
    const five = Array.from({ length: 5 }, () => ({ name: 'dump', id: null }));
    const model = modelOf(calls(...five), calls({ name: 'send' }), says('Done.'));
    const client = await openBenchSession(adapters, { tools: ['dump', 'send'], approval: { tools: ['send'] } });
    const turn = await client.accept('What was it?');
    const worker = workerWith({ model, tools: [dump, send] });
    await worker.run(client.key);
    await approveAll(client);
    await worker.run(client.key);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED' });
    const [, asked, ...rest] = model.requests[2]?.messages ?? [];
    expect(asked).toEqual({ role: 'user', content: 'What was it?' });
    expect(rest.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });
});

describe('a cancel', () => {
  test('before the turn was claimed: no model is called', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    await client.cancel();
    const model = modelOf(says('Hello.'));
    await workerWith({ model }).run(client.key);
    expect(model.requests).toEqual([]);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'CANCELLED' });
    expect(await types(client)).toEqual(['cancelled']);
    await expectAtRest(client);
  });

  test('between the claim and the turn’s first write: no model is called, though the signal was lost', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const model = modelOf(says('Hello.'));
    const hooks: Hooks = { beforeSession: () => client.cancel() };
    adapters.bus.nudge = () => undefined;
    await workerWith({ model, hooks }).run(client.key);
    expect(model.requests).toEqual([]);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'CANCELLED' });
  });

  test('whose signal was lost is seen by the next heartbeat', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const model = modelOf(thenHangs());
    const done = workerWith({ model }).run(client.key);
    await settle();
    adapters.bus.nudge = () => undefined;
    await client.cancel();
    await adapters.clock.advance(LEASE_MS / 3);
    await done;
    expect(model.open).toBe(0);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'CANCELLED' });
  });

  test('of a turn whose worker died keeps the text that the log has', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const lifeline = createLifeline();
    const model = modelOf(thenHangs({ type: 'text', text: 'Half a' }));
    const dying = workerWith({
      store: lifeline.port('store', adapters.store),
      bus: lifeline.port('bus', adapters.bus),
      model: lifeline.port('model', model),
      clock: lifeline.clock(adapters.clock),
    });
    void dying.run(client.key);
    await settle();
    lifeline.stop();
    await client.cancel();
    await adapters.clock.advance(LEASE_MS + 1);
    await workerWith({ model }).run(client.key);
    const view = new ClientView(client.key);
    await view.follow(adapters.bus);
    expect(view.textsOf(turn.id)).toEqual(['Half a']);
    expect((await client.messages()).at(-1)).toMatchObject({ content: 'Half a', status: 'partial' });
    expect(await client.turn(turn.id)).toMatchObject({ status: 'CANCELLED' });
  });

  test('by an interrupting turn keeps the text, by a rollback removes the turn’s messages', async () => {
    const client = await openBenchSession(adapters);
    const model = modelOf(
      thenHangs({ type: 'text', text: 'One' }),
      thenHangs({ type: 'text', text: 'Two' }),
      says('3.'),
    );
    const worker = workerWith({ model });
    await client.accept('first');
    const first = worker.run(client.key);
    await settle();
    await client.accept('second', 'interrupt');
    await first;
    const second = worker.run(client.key);
    await settle();
    await client.accept('third', 'rollback');
    await second;
    await worker.run(client.key);
    expect((await client.messages()).map(({ content }) => content)).toEqual(['first', 'One', 'third', '3.']);
    await expectAtRest(client);
  });

  test('of the session by its deletion stops the work, and nothing is written any more', async () => {
    const client = await openBenchSession(adapters);
    await client.accept('Hi');
    const model = modelOf(thenHangs({ type: 'text', text: 'Hel' }));
    const done = workerWith({ model }).run(client.key);
    await settle();
    await adapters.store.sessions.delete(client.key);
    adapters.bus.nudge(client.key);
    await done;
    expect(model.open).toBe(0);
    expect(await types(client)).not.toContain('cancelled');
  });
});

describe('a worker that is asked to stop', () => {
  test('hands its turn over: no new attempt, what was shown of the step is taken back', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const model = modelOf(thenHangs({ type: 'text', text: 'Hel' }), says('Hello.'));
    const first = workerWith({ model });
    const done = first.run(client.key);
    await settle();
    for (const hold of first.holds) hold.stop('shutdown');
    await done;
    expect(first.holds.size).toBe(0);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'QUEUED', attempt: 1 });
    expect(await adapters.queue.counts('turn')).toMatchObject({ waiting: 1 });
    await workerWith({ model }).run(client.key);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect(await types(client)).toEqual([
      ...['turn.started', 'step.started', 'turn.delta', 'turn.reset', 'step.started', 'turn.delta', 'done'],
    ]);
  });

  test.each<[string, Hooks]>([
    ['beforeSession', { beforeSession: ({ signal }) => untilAborted(signal) }],
    ['beforeModel', { beforeModel: ({ signal }) => untilAborted(signal) }],
  ])('does not take it for a failure that its hook %s was stopped', async (_, hooks) => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const first = workerWith({ model: modelOf(), hooks });
    const done = first.run(client.key);
    await settle();
    for (const hold of first.holds) hold.stop('shutdown');
    await done;
    expect(await client.turn(turn.id)).toMatchObject({ status: 'QUEUED', error: null });
  });

  function untilAborted(signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
});

describe('a worker that stands still for longer than its lease', () => {
  test('aborts, and neither writes nor emits when it goes on', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const gate = Promise.withResolvers<void>();
    const model = createScriptedModel((_, before) =>
      before > 0
        ? says('From the second.')
        : async function* (signal) {
            yield { type: 'text', text: 'From the' };
            await gate.promise;
            yield { type: 'text', text: ' first' };
            yield { type: 'text', text: '.' };
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          },
    );
    const lifeline = createLifeline({ kind: 'stalls' });
    const first = workerWith({
      holder: 'first',
      store: lifeline.port('store', adapters.store),
      bus: lifeline.port('bus', adapters.bus),
      model,
      clock: lifeline.clock(adapters.clock),
    });
    const stalled = first.run(client.key);
    await settle();
    lifeline.stop();
    await adapters.clock.advance(LEASE_MS + 1);
    await workerWith({ holder: 'second', model }).run(client.key);
    const after = await client.events();
    expect(after.at(-1)?.type).toBe('done');

    lifeline.wake();
    gate.resolve();
    await adapters.clock.advance(LEASE_MS);
    await stalled;
    expect(model.open).toBe(0);
    expect(await client.events()).toEqual(after);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 2 });
    expect((await client.messages()).map(({ content }) => content)).toEqual(['Hi', 'From the second.']);
  });

  test('stops its model when the store does not even answer', async () => {
    const client = await openBenchSession(adapters);
    await client.accept('Hi');
    const model = modelOf(thenHangs({ type: 'text', text: 'Hel' }));
    const done = workerWith({ model }).run(client.key);
    await settle();
    const { turns } = adapters.store;
    turns.renew = () => new Promise(() => undefined);
    turns.release = () => Promise.reject(unavailable('The store', null));
    await adapters.clock.advance(2 * LEASE_MS);
    await done;
    expect(model.open).toBe(0);
  });
});

describe('a turn whose worker dies again and again', () => {
  test('fails, and the session takes the next one', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      await adapters.store.turns.claim(client.key, { holder: `dead ${attempt}`, leaseMs: LEASE_MS });
      await adapters.clock.advance(LEASE_MS + 1);
    }
    const worker = workerWith({ model: modelOf(says('Hello.')) });
    await worker.run(client.key);
    expect(await client.turn(turn.id)).toMatchObject({
      status: 'FAILED',
      attempt: MAX_ATTEMPTS,
      error: { code: 'attempts_exhausted' },
    });
    const next = await client.accept('Still there?');
    await worker.run(client.key);
    expect(await client.turn(next.id)).toMatchObject({ status: 'COMPLETED' });
    await expectAtRest(client);
  });
});

describe('servers that are away', () => {
  test('are waited for: the turn goes on, and is written once', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const { turns } = adapters.store;
    const { begin, finish, release } = turns;
    turns.begin = failing(2, begin);
    turns.finish = failing(3, finish);
    turns.release = failing(1, release);
    const done = workerWith({ model: modelOf(says('Hello.')) }).run(client.key);
    await adapters.clock.advance(5_000);
    await done;
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect((await client.messages()).map(({ content }) => content)).toEqual(['Hi', 'Hello.']);
    await expectAtRest(client);
  });

  test.each(['begin', 'recordStep', 'recordOutcomes', 'suspend', 'finish'] as const)(
    'only after they had stored a write (%s): it is not made twice, and the turn ends',
    async (name) => {
      const tools = [createScriptedTool('send', () => 'sent'), createScriptedTool('look', () => 'seen')];
      const approval = { tools: name === 'suspend' ? ['send'] : [] };
      const client = await openBenchSession(adapters, { tools: ['send', 'look'], approval });
      const turn = await client.accept('Hi');
      const { turns } = adapters.store;
      const write = turns[name].bind(turns) as (...args: unknown[]) => Promise<never>;
      let lost = false;
      Object.assign(turns, {
        [name]: async (...args: unknown[]) => {
          const result = await write(...args);
          if (lost) return result;
          lost = true;
          throw unavailable('The store', null);
        },
      });
      const model = modelOf(calls({ name: 'send' }, { name: 'look' }), says('Sent.'));
      const worker = workerWith({ model, tools });
      const run = worker.run(client.key).catch(() => 'given up');
      await adapters.clock.advance(1_000);
      expect(await run).toBe('given up');
      for (let round = 0; round < 3; round += 1) {
        if ((await client.session()).state === 'WAITING') await approveAll(client);
        await worker.run(client.key);
      }
      expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
      expect((await types(client)).filter((type) => type === 'done')).toHaveLength(1);
      expect(tools.map(({ runs }) => runs.length)).toEqual([1, 1]);
      await expectAtRest(client);
    },
  );

  test('and a bus that is away does not cost the lease', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const { openWriter } = adapters.bus;
    adapters.bus.openWriter = failing(40, openWriter.bind(adapters.bus));
    const done = workerWith({ model: modelOf(says('Hello.')) }).run(client.key);
    await adapters.clock.advance(2 * LEASE_MS);
    await done;
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
  });

  test('and a log that is away while others have news does not cost the lease', async () => {
    const client = await openBenchSession(adapters);
    const first = await client.accept('first');
    const second = await client.accept('second');
    const flushing = { away: false };
    const openWriter = adapters.bus.openWriter.bind(adapters.bus);
    adapters.bus.openWriter = async (key, token) => {
      const writer = await openWriter(key, token);
      const flush = async () => (flushing.away ? Promise.reject(unavailable('The log', null)) : writer.flush());
      return Object.create(writer, { flush: { value: flush } });
    };
    const done = workerWith({ model: modelOf(thenHangs({ type: 'text', text: 'Hel' })) }).run(client.key);
    await settle();
    flushing.away = true;
    await adapters.store.sessions.cancelTurn(client.key, { turnId: second.id }, null);
    adapters.bus.nudge(client.key);
    await adapters.clock.advance(3 * LEASE_MS);
    expect((await client.session()).lease.expiresAt).toBeGreaterThan(adapters.clock.now());
    flushing.away = false;
    await client.cancel();
    await adapters.clock.advance(1_000);
    await done;
    expect(await client.turn(first.id)).toMatchObject({ status: 'CANCELLED', attempt: 1 });
    expect((await types(client)).filter((type) => type === 'cancelled')).toHaveLength(2);
  });

  test('and a log that a newer holder has opened ends the work without a word', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    adapters.bus.openWriter = () => Promise.reject(leaseLost(client.key.sessionId, 1));
    const model = modelOf(says('Hello.'));
    await workerWith({ model }).run(client.key);
    expect(model.requests).toEqual([]);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'RUNNING' });
    expect(adapters.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  /** Fails so many times before it does its work. */
  function failing<A extends unknown[], R>(times: number, fn: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    let left = times;
    return async (...args) => {
      left -= 1;
      if (left >= 0) throw unavailable('The server', null);
      return fn(...args);
    };
  }
});

describe('what others put into the outbox', () => {
  test('is published by the holder in the middle of its turn', async () => {
    const client = await openBenchSession(adapters);
    await client.accept('first');
    const second = await client.accept('second');
    const done = workerWith({ model: modelOf(thenHangs({ type: 'text', text: 'Hel' })) }).run(client.key);
    await settle();
    await adapters.store.sessions.cancelTurn(client.key, { turnId: second.id }, null);
    adapters.bus.nudge(client.key);
    await settle();
    const events = await client.events();
    expect(events.at(-1)).toMatchObject({ type: 'cancelled', turnId: second.id });
    await client.cancel();
    await done;
    expect((await types(client)).at(-1)).toBe('cancelled');
    await expectAtRest(client);
  });
});

describe('an error that nobody foresaw', () => {
  test('in the loop fails the turn, with what it had said', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    const model = createScriptedModel(
      () =>
        async function* () {
          yield { type: 'text', text: 'Hel' };
          throw new TypeError('x is not a function');
        },
    );
    await workerWith({ model }).run(client.key);
    const { error } = await client.turn(turn.id);
    expect(error?.code).toBe('internal');
    expect(error?.message).not.toContain('x is not');
    expect((await client.messages()).at(-1)).toMatchObject({ content: 'Hel', status: 'partial' });
    expect(adapters.log.lines.some(({ fields }) => fields.err instanceof TypeError)).toBe(true);
  });

  test('while the turn ends counts as an attempt, so that it cannot come for ever', async () => {
    const client = await openBenchSession(adapters);
    const turn = await client.accept('Hi');
    adapters.store.turns.finish = () => Promise.reject(new TypeError('x is not a function'));
    const worker = workerWith({ model: modelOf(says('Hello.')) });
    await expect(worker.run(client.key)).rejects.toThrow('x is not a function');
    expect(worker.holds.size).toBe(0);
    expect(await adapters.store.turns.claim(client.key, { holder: 'next', leaseMs: LEASE_MS })).toBeNull();
    await adapters.clock.advance(LEASE_MS + 1);
    await expect(workerWith({ model: modelOf(says('Hello.')) }).run(client.key)).rejects.toThrow();
    expect(await client.turn(turn.id)).toMatchObject({ attempt: 2 });
  });
});
