import { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import { type AppError, unavailable } from '@turnwire/shared/domain/errors';
import type { Memory } from '@turnwire/shared/domain/memory';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import type { Job, JobHandler, JobKind, JobQueue } from '@turnwire/shared/ports/job-queue';
import type { LanguageModel, ModelChunk, ModelFailure, ModelRequest } from '@turnwire/shared/ports/language-model';
import type { Logger } from '@turnwire/shared/ports/logger';
import { exampleMemory } from '@turnwire/shared/recall/example-memory';
import { writeRecalled } from '@turnwire/shared/recall/recalled-block';
import { makeSqliteStore, type SqliteHarness } from '@turnwire/shared/testing/sqlite-store';
import { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { afterEach, describe, expect, test } from 'vitest';
import { type MemoryWorkerDeps, startMemoryWorker } from './memory-worker.ts';

type ExtractionJob = Extract<Job, { kind: 'extraction' }>;

const ATTEMPTS = 3;
const SYSTEM_PROMPT =
  'You are the support agent of Acme, a maker of rocket skates. Always answer politely and in full sentences. Never mention the coyote.';

/** A queue in the test's hand: nothing runs until `drain`; delays are noted, not waited for. */
class HeldQueue implements Pick<JobQueue, 'enqueue' | 'consume'> {
  waiting: { readonly job: ExtractionJob; readonly attempts: number; readonly delayMs: number }[] = [];
  readonly failed: unknown[] = [];
  readonly retried: unknown[] = [];
  handler: JobHandler<'extraction'> | null = null;
  running: Promise<void> = Promise.resolve();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async enqueue(job: Job, options: { readonly delayMs?: number } = {}): Promise<void> {
    if (job.kind !== 'extraction') throw new Error('The memory worker enqueues extractions alone.');
    if (this.waiting.some((other) => other.job.tenantId === job.tenantId && other.job.userId === job.userId)) return;
    this.waiting.push({ job, attempts: 0, delayMs: options.delayMs ?? 0 });
  }

  consume<K extends JobKind>(kind: K, _concurrency: number, handler: JobHandler<K>) {
    expect(kind).toBe('extraction');
    this.handler = (job, run) => handler(job as Extract<Job, { kind: K }>, run);
    return {
      close: async (graceMs: number) => {
        this.handler = null;
        await Promise.race([this.running, this.#clock.sleep(graceMs)]);
      },
    };
  }

  /** Runs all that waits, and what comes of it, one by one. */
  async drain(): Promise<void> {
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      const attempt = next.attempts + 1;
      const run = { id: 'job', attempt, last: attempt === ATTEMPTS };
      try {
        await this.handler?.(next.job, run);
      } catch (error) {
        this.retried.push(error);
        if (run.last) this.failed.push(error);
        else this.waiting.push({ ...next, attempts: attempt });
      }
    }
  }
}

type Answer = string | readonly object[] | ModelFailure | 'hang';

/** A model that answers what the test says, in pieces, and hangs as real ones do. */
class ScriptedModel implements LanguageModel {
  readonly requests: ModelRequest[] = [];
  answer: (request: ModelRequest) => Answer = () => [];
  aborted = 0;

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    this.requests.push(request);
    const answer = this.answer(request);
    if (answer === 'hang') {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      this.aborted += 1;
      return;
    }
    if (typeof answer !== 'string' && 'retry' in answer) {
      yield { type: 'error', error: answer };
      return;
    }
    const text = typeof answer === 'string' ? answer : JSON.stringify({ memories: answer });
    for (const piece of text.match(/.{1,7}/gs) ?? []) yield { type: 'text', text: piece };
    yield { type: 'reasoning', text: '{"memories": "none of the answer"}' };
    yield { type: 'end', finishReason: 'stop' };
  }

  /** What the extractor was shown of conversation and memories, in its last request. */
  get shown() {
    const content = this.requests.at(-1)?.messages.at(-1)?.content ?? '{}';
    return JSON.parse(content) as {
      date: string;
      existingMemories: { ref: number; text: string }[];
      messages: { role: string; content: string }[];
    };
  }
}

const overloaded: ModelFailure = { code: 'model_overloaded', message: 'Busy.', retry: true, retryAfterMs: null };

interface WorldOptions {
  readonly hooks?: Hooks;
  readonly memoryModel?: string;
  readonly deps?: (deps: MemoryWorkerDeps) => Partial<MemoryWorkerDeps>;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function makeWorld(options: WorldOptions = {}) {
  const harness = await makeSqliteStore();
  const { store, clock } = harness;
  closers.push(() => harness.close());
  const queue = new HeldQueue(clock);
  const model = new ScriptedModel();
  const log: string[] = [];
  const refused: string[] = [];
  const ended: string[] = [];
  const pruned: number[] = [];
  const note = (_: unknown, message: string) => void log.push(message);
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  for (const tenantId of ['acme', 'other']) {
    const settings = agentSettingsSchema.parse({
      systemPrompt: SYSTEM_PROMPT,
      model: { name: 'small', maxOutputTokens: 50 },
    });
    await store.agents.put(tenantId, 'support', settings);
  }
  const deps: MemoryWorkerDeps = {
    store,
    queue,
    bus: { prune: async (before) => pruned.push(before) && 0 },
    model,
    hooks: options.hooks ?? {},
    clock,
    ids: { next: (kind) => `${kind}_1`, random: () => 0.5 },
    log: logger,
    metrics: { extractionEnded: (outcome) => ended.push(outcome), memoryRefused: (reason) => refused.push(reason) },
    memoryModel: options.memoryModel ?? null,
    options: { sweepMs: 2000, eventRetentionMs: 3_600_000 },
  };
  const worker = startMemoryWorker({ ...deps, ...options.deps?.(deps) });
  closers.push(() => worker.close());
  return {
    harness,
    store,
    clock,
    queue,
    model,
    worker,
    log,
    refused,
    ended,
    pruned,
    ...conversationsOf(harness, queue),
  };
}

/** The agent worker's part: turns that are said and completed. */
function conversationsOf({ store, clock }: SqliteHarness, queue: HeldQueue) {
  let count = 0;
  const ann = { tenantId: 'acme', userId: 'ann' };

  /** A completed turn that owes an extraction; nothing wakes the worker. */
  async function complete(text: string, options: { user?: typeof ann; answer?: string } = {}): Promise<string> {
    const { user = ann, answer = 'I see.' } = options;
    count += 1;
    await clock.advance(1000);
    const key = { tenantId: user.tenantId, sessionId: `ses_${count}` };
    const turnId = `turn_${count}`;
    await store.sessions.create({ id: key.sessionId, ...user, agentId: 'support', metadata: {} }, null);
    await store.sessions.acceptTurn(key, { turnId, text, onBusy: 'enqueue' }, null);
    const holder = new TurnHolder(store.turns, key, 'worker');
    await holder.claim(10_000);
    await holder.begin();
    await holder.complete(answer, { extract: true });
    return turnId;
  }

  /** A completed turn and all the memory work that it makes. */
  async function say(text: string, options: { user?: typeof ann; answer?: string } = {}): Promise<string> {
    const turnId = await complete(text, options);
    await queue.enqueue({ kind: 'extraction', ...(options.user ?? ann) });
    await queue.drain();
    return turnId;
  }

  const memories = (user = ann) => store.memories.valid(user, 100);
  const texts = async (user = ann) => (await memories(user)).map(({ text }) => text).sort();
  const owed = (user = ann) => store.extractions.next(user);
  const stateOf = async (turnId: string) => (await store.sessions.turn('acme', turnId))?.extraction;
  return { ann, complete, say, memories, texts, owed, stateOf };
}

function add(text: string, quote: string, more: object = {}) {
  return { op: 'add', text, quote, ...more };
}

function home(text: string, quote: string, value: string, more: object = {}) {
  return add(text, quote, { subject: 'user', slot: 'home', value, cardinality: 'one', ...more });
}

describe('what the extractor is asked', () => {
  test('the turn, the date, and the memories under small numbers', async () => {
    const { say, model, store } = await makeWorld();
    await store.memories.add(exampleMemory('mem_secretid', 'The user likes tea.'), null);
    await say('I live in Berlin.', { answer: 'Nice city!' });
    expect(model.shown).toEqual({
      date: '2026-01-01',
      existingMemories: [{ ref: 1, text: 'The user likes tea.' }],
      messages: [
        { role: 'user', content: 'I live in Berlin.' },
        { role: 'assistant', content: 'Nice city!' },
      ],
    });
    expect(JSON.stringify(model.requests)).not.toContain('mem_secretid');
    const [request] = model.requests;
    expect(request?.responseFormat?.name).toBe('memory_extraction');
    expect(request?.tools).toEqual([]);
    // The agent's model, but not its limit for answers.
    expect(request?.settings).toMatchObject({ name: 'small', maxOutputTokens: null });
    expect(JSON.stringify(request?.messages)).not.toContain('rocket skates');
  });

  test('MEMORY_MODEL is asked at the server’s own endpoint', async () => {
    const { say, model } = await makeWorld({ memoryModel: 'tiny' });
    await say('I live in Berlin.');
    expect(model.requests[0]?.settings).toMatchObject({ name: 'tiny', baseUrl: null, apiKeyEnv: null });
  });

  test('of many memories the nearest', async () => {
    const { say, model, store } = await makeWorld();
    for (let n = 0; n < 40; n += 1)
      await store.memories.add(exampleMemory(`mem_${n}`, `The user met person${n}.`), null);
    await store.memories.add(exampleMemory('mem_home', 'The user lives in Paris.', { createdAt: 0 }), null);
    await say('I live in Berlin now.');
    expect(model.shown.existingMemories).toHaveLength(20);
    expect(model.shown.existingMemories[0]).toEqual({ ref: 1, text: 'The user lives in Paris.' });
  });

  test('nothing, where the user said nothing', async () => {
    const { say, model, stateOf } = await makeWorld();
    const turnId = await say('   ');
    expect(model.requests).toEqual([]);
    expect(await stateOf(turnId)).toBe('done');
  });

  test('without a schema, where the server takes none', async () => {
    const { say, model, texts } = await makeWorld();
    model.answer = ({ responseFormat }) =>
      responseFormat === null
        ? '```json\n{"memories": [{"op": "add", "text": "Lives in Berlin.", "quote": "I live in Berlin"}]}\n```'
        : { code: 'model_error', message: 'This response_format is unavailable.', retry: false, retryAfterMs: null };
    await say('I live in Berlin.');
    expect(model.requests).toHaveLength(2);
    expect(await texts()).toEqual(['Lives in Berlin.']);
  });
});

describe('E1: only what the user said', () => {
  test('three facts among restated prompts, inventions and the assistant’s words', async () => {
    const { say, model, memories, refused } = await makeWorld();
    model.answer = () => [
      add('Always answer politely and in full sentences.', 'Always answer politely and in full sentences.'),
      add('Always answer politely and in full sentences.', 'I live in Berlin'),
      add('The user works with Wile Coyote.', 'my colleague Wile'),
      add('The user owns rocket skates.', 'You own rocket skates'),
      home('The user lives in Berlin.', 'I live in Berlin', 'Berlin'),
      add('用户不吃辣。', '我不吃辣'),
      add('The user has a dog named Rex.', 'my dog Rex'),
      { op: 'add', text: 'No quote at all.' },
    ];
    const turnId = await say('Hello! I live in Berlin with my dog Rex. 我不吃辣。', {
      answer: 'You own rocket skates, do you not?',
    });
    const stored = await memories();
    expect(stored.map(({ text }) => text).sort()).toEqual([
      'The user has a dog named Rex.',
      'The user lives in Berlin.',
      '用户不吃辣。',
    ]);
    for (const memory of stored) {
      expect(memory).toMatchObject({ sourceTurnId: turnId, sourceSessionId: 'ses_1', tenantId: 'acme', userId: 'ann' });
      expect('Hello! I live in Berlin with my dog Rex. 我不吃辣。').toContain(memory.quote);
    }
    expect(refused.sort()).toEqual(['echo', 'malformed', 'quote', 'quote', 'quote']);
  });
});

describe('E2: what is recalled is not noted again', () => {
  test('ten turns with the same memory leave one', async () => {
    const { say, model, store, texts, refused } = await makeWorld();
    const known = exampleMemory('mem_1', 'The user lives in Berlin.');
    await store.memories.add(known, null);
    const block = writeRecalled([known]);
    model.answer = () => [
      add('Ann resides in Berlin.', 'The user lives in Berlin.'),
      add('The user lives in Berlin.', 'lives in Berlin'),
    ];
    for (let n = 0; n < 10; n += 1) {
      await say(`Question ${n}.${block}`, { answer: `You live in Berlin.${block}` });
      expect(model.shown.messages.map(({ content }) => content)).toEqual([`Question ${n}.`, 'You live in Berlin.']);
    }
    expect(await texts()).toEqual(['The user lives in Berlin.']);
    expect(refused).toHaveLength(20);
  });
});

test('E3: "hi" leaves nothing, whatever the model makes of it', async () => {
  const { say, model, memories } = await makeWorld();
  model.answer = ({ messages }) => [
    add(messages[0]?.content.split('\n')[0] ?? '', 'hi'),
    add('The user greets people.', 'hi'),
    add('One short sentence in the third person that can be understood alone.', 'hi'),
  ];
  await say('hi');
  expect(await memories()).toEqual([]);
});

describe('E5: one fact, one memory', () => {
  test('six ways to say it', async () => {
    const { say, model, memories } = await makeWorld();
    const ways = [
      'I live in Berlin',
      'My home is in Berlin',
      'I am living in Berlin',
      'Berlin is where I live',
      'I’m at home in Berlin',
      '我住在Berlin',
    ];
    for (const way of ways) {
      model.answer = () => [home(`The user says: ${way}.`, way, 'Berlin')];
      await say(`${way}.`);
    }
    expect(await memories()).toHaveLength(1);
  });

  test('a contradiction closes the older fact and keeps it', async () => {
    const { say, model, store, memories } = await makeWorld();
    model.answer = () => [home('The user lives in Berlin.', 'I live in Berlin', 'Berlin')];
    await say('I live in Berlin.');
    model.answer = () => [home('The user lives in Rome.', 'I moved to Rome', 'Rome')];
    await say('I moved to Rome.');
    const [rome, ...others] = await memories();
    expect([rome?.text, others]).toEqual(['The user lives in Rome.', []]);
    const berlin = await store.memories.get('acme', 'mem_turn_1_1');
    expect(berlin).toMatchObject({
      text: 'The user lives in Berlin.',
      validTo: rome?.validFrom,
      supersededBy: rome?.id,
    });
  });

  test('an update and a deletion by reference', async () => {
    const { say, model, store, texts } = await makeWorld();
    await store.memories.add(exampleMemory('mem_1', 'Drinks coffee.'), null);
    await store.memories.add(exampleMemory('mem_2', 'Eats meat.'), null);
    model.answer = () => {
      const refOf = (text: string) => model.shown.existingMemories.find((memory) => memory.text === text)?.ref;
      return [
        add('Drinks tea.', 'only tea for me', { op: 'update', targetRef: refOf('Drinks coffee.') }),
        { op: 'delete', targetRef: refOf('Eats meat.'), text: '', quote: 'Forget about the meat' },
        add('Out of nowhere.', 'only tea for me', { op: 'update', targetRef: 9 }),
      ];
    };
    await say('It is only tea for me now. Forget about the meat.');
    expect(await texts()).toEqual(['Drinks tea.']);
    expect(await store.memories.get('acme', 'mem_1')).toMatchObject({ supersededBy: 'mem_turn_1_1' });
  });
});

test('E8: neither memories nor targets cross tenants or users', async () => {
  const { say, model, store, texts } = await makeWorld();
  const strangers = [
    { tenantId: 'other', userId: 'ann' },
    { tenantId: 'acme', userId: 'bob' },
  ];
  await store.memories.add(exampleMemory('mem_1', 'Lives in Berlin.'), null);
  model.answer = () => [
    { op: 'delete', targetRef: 1, text: '', quote: 'forget where I live' },
    add('Lives in Rome.', 'forget where I live', { op: 'update', targetRef: 1 }),
  ];
  for (const user of strangers) {
    await say('Please forget where I live.', { user });
    expect(model.shown.existingMemories).toEqual([]);
    expect(await texts(user)).toEqual([]);
  }
  expect(await texts()).toEqual(['Lives in Berlin.']);
});

describe('E10: a job that is delivered twice', () => {
  test('one after the other: the model is not even asked again', async () => {
    const { say, model, memories, queue, ann } = await makeWorld();
    model.answer = () => [add('Has a dog.', 'I have a dog')];
    await say('I have a dog.');
    const first = await memories();
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect(await memories()).toEqual(first);
    expect(model.requests).toHaveLength(1);
  });

  test('at the same time: one of them stores', async () => {
    const { complete, model, memories, queue, ann, ended } = await makeWorld();
    model.answer = () => [add('Has a dog.', 'I have a dog')];
    await complete('I have a dog.');
    const job = { kind: 'extraction', ...ann } as const;
    const run = { id: 'job', attempt: 1, last: false };
    await Promise.all([queue.handler?.(job, run), queue.handler?.(job, run)]);
    expect((await memories()).map(({ id }) => id)).toEqual(['mem_turn_1_1']);
    expect(model.requests).toHaveLength(2);
    expect(ended).toEqual(['done']);
  });

  test('turns are worked off in the order of their ends, by one job', async () => {
    const { complete, model, queue, owed, ann } = await makeWorld();
    for (let n = 1; n <= 12; n += 1) await complete(`Turn ${n}.`);
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    const asked = model.requests.map(({ messages }) => /Turn \d+/.exec(messages.at(-1)?.content ?? '')?.[0]);
    expect(asked).toEqual(Array.from({ length: 12 }, (_, n) => `Turn ${n + 1}`));
    expect(await owed()).toBeNull();
  });
});

describe('E11: an outage of the extracting model', () => {
  test.each([
    ['an error', overloaded],
    ['junk', 'I cannot help with that.'],
    ['half an answer', '{"memories": [{"op": "add",'],
    ['an answer without measure', JSON.stringify({ memories: [], more: 'x'.repeat(70_000) })],
  ] as const)('%s: tried again, and then it goes on', async (_, answer) => {
    const { say, model, texts, queue, ended } = await makeWorld();
    model.answer = () => (model.requests.length === 1 ? answer : [add('Has a dog.', 'I have a dog')]);
    await say('I have a dog.');
    expect(queue.retried).toHaveLength(1);
    expect(await texts()).toEqual(['Has a dog.']);
    expect(ended).toEqual(['done']);
  });

  test('a model that hangs is left after 30 s', async () => {
    const { complete, model, queue, clock, texts, ann } = await makeWorld();
    model.answer = () => (model.requests.length === 1 ? 'hang' : [add('Has a dog.', 'I have a dog')]);
    await complete('I have a dog.');
    await queue.enqueue({ kind: 'extraction', ...ann });
    const drained = queue.drain();
    await clock.advance(29_000);
    expect([model.requests.length, model.aborted]).toEqual([1, 0]);
    await clock.advance(2000);
    await drained;
    expect(model.aborted).toBe(1);
    expect(await texts()).toEqual(['Has a dog.']);
  });

  test('after the last attempt it is given up, the operator is told, and the turn stays as it was', async () => {
    const told: { where: string; error: AppError; turnId: string }[] = [];
    const { say, model, queue, stateOf, store, ended, owed } = await makeWorld({
      hooks: { onError: ({ turnId }, { where, error }) => void told.push({ where, error, turnId }) },
    });
    model.answer = () => overloaded;
    const turnId = await say('I have a dog.');
    expect(model.requests).toHaveLength(ATTEMPTS);
    expect(queue.failed).toHaveLength(1);
    expect(told.map(({ where, error, turnId: of }) => [where, error.code, of])).toEqual([
      ['extraction', 'model_overloaded', turnId],
    ]);
    expect(ended).toEqual(['failed']);
    expect(await stateOf(turnId)).toBe('failed');
    expect(await store.sessions.turn('acme', turnId)).toMatchObject({ status: 'COMPLETED', error: null });
    expect(await owed()).toBeNull();
  });

  test('each extraction has all the attempts, whatever became of those before it', async () => {
    const { complete, model, queue, stateOf, ann } = await makeWorld();
    const failures = new Map([
      ['Fine', 0],
      ['Shaky', 1],
      ['Poison', ATTEMPTS],
      ['Bad', ATTEMPTS - 1],
      ['Worse', ATTEMPTS - 1],
    ]);
    const ids: string[] = [];
    for (const text of failures.keys()) ids.push(await complete(`${text}.`));
    model.answer = ({ messages }) => {
      const [text] = [...failures.keys()].filter((key) => messages.at(-1)?.content.includes(key));
      const left = failures.get(text ?? '') ?? 0;
      failures.set(text ?? '', left - 1);
      return left > 0 ? overloaded : [];
    };
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect(await Promise.all(ids.map(stateOf))).toEqual(['done', 'done', 'failed', 'done', 'done']);
  });

  test.each([
    ['throws', () => Promise.reject(new Error('broken hook'))],
    ['never answers', () => new Promise<void>(() => {})],
  ])('a hook that %s is logged', async (_, onError) => {
    const { complete, model, queue, clock, log, stateOf, ann } = await makeWorld({ hooks: { onError } });
    model.answer = () => overloaded;
    const turnId = await complete('I have a dog.');
    await queue.enqueue({ kind: 'extraction', ...ann });
    const drained = queue.drain();
    await clock.advance(11_000);
    await drained;
    expect(log).toContain('The onError hook failed.');
    expect(await stateOf(turnId)).toBe('failed');
  });

  test('a deleted agent: given up at once, and the next one goes on', async () => {
    const told: string[] = [];
    const { complete, model, queue, store, stateOf, ann } = await makeWorld({
      hooks: { onError: (_, { error }) => void told.push(error.code) },
    });
    const turnId = await complete('I have a dog.');
    await store.agents.delete('acme', 'support');
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect([await stateOf(turnId), told, model.requests, queue.retried]).toEqual([
      'failed',
      ['agent_not_found'],
      [],
      [],
    ]);
  });

  test('a store that is away gives nothing up, however often', async () => {
    let away = true;
    const { say, stateOf, queue, ended, texts, model, ann } = await makeWorld({
      deps: ({ store }) => ({
        store: {
          ...store,
          extractions: {
            ...store.extractions,
            complete: async (turn, changes) => {
              if (away) throw unavailable('The store', new Error('away'));
              return store.extractions.complete(turn, changes);
            },
          },
        },
      }),
    });
    model.answer = () => [add('Has a dog.', 'I have a dog')];
    const turnId = await say('I have a dog.');
    expect([await stateOf(turnId), queue.failed.length, ended]).toEqual(['pending', 1, []]);
    away = false;
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect(await texts()).toEqual(['Has a dog.']);
  });
});

describe('E13: what a person took back', () => {
  const answerDog = () => [add('The user has a dog.', 'I have a dog')];

  test('an older turn does not bring a deleted memory back', async () => {
    const { complete, say, model, store, texts, queue, refused, ann } = await makeWorld();
    model.answer = answerDog;
    await say('I have a dog.');
    await complete('As I said, I have a dog.');
    await store.memories.delete('acme', 'mem_turn_1_1');
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect(await texts()).toEqual([]);
    expect(refused).toEqual(['tombstone']);
  });

  test('nor does an extraction that runs while it is deleted', async () => {
    const { complete, model, store, texts, queue, ann } = await makeWorld();
    await store.memories.add(exampleMemory('mem_1', 'The user has a dog.'), null);
    await complete('I have a dog.');
    model.answer = () => {
      void store.memories.delete('acme', 'mem_1');
      return answerDog();
    };
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect(await texts()).toEqual([]);
  });

  test('nor does it undo an edit', async () => {
    const { say, complete, model, store, clock, texts, queue, ann } = await makeWorld();
    model.answer = () => [home('The user lives in Berlin.', 'I live in Berlin', 'Berlin')];
    await say('I live in Berlin.');
    await complete('Yes, I live in Berlin.');
    await clock.advance(1000);
    await store.memories.update('acme', 'mem_turn_1_1', { text: 'The user lives in Bern.', value: 'Bern' });
    await queue.enqueue({ kind: 'extraction', ...ann });
    await queue.drain();
    expect(await texts()).toEqual(['The user lives in Bern.']);
  });

  test('what is said again afterwards is a new fact', async () => {
    const { say, model, store, clock, texts } = await makeWorld();
    model.answer = answerDog;
    await say('I have a dog.');
    await store.memories.delete('acme', 'mem_turn_1_1');
    await clock.advance(1000);
    await say('Since today I have a dog again: I have a dog.');
    expect(await texts()).toEqual(['The user has a dog.']);
  });
});

describe('the sweep', () => {
  test('brings back what no job asks for, a little later, and not twice', async () => {
    const { complete, queue, clock } = await makeWorld();
    await complete('I have a dog.');
    await complete('Hello.', { user: { tenantId: 'acme', userId: 'bob' } });
    await clock.advance(2000);
    expect(queue.waiting.map(({ job, delayMs }) => [job.userId, delayMs])).toEqual([
      ['ann', 5000],
      ['bob', 5000],
    ]);
    queue.waiting = [];
    await clock.advance(60_000);
    expect(queue.waiting).toEqual([]);
    await clock.advance(300_000);
    expect(queue.waiting).toHaveLength(2);
  });

  test('a store or queue that is away is tried again', async () => {
    let calls = 0;
    const { clock, log, queue, complete } = await makeWorld({
      deps: ({ store }) => ({
        store: {
          ...store,
          extractions: {
            ...store.extractions,
            takeDue: async (limit, retryAfterMs) => {
              calls += 1;
              if (calls <= 2) throw unavailable('The store', new Error('away'));
              return store.extractions.takeDue(limit, retryAfterMs);
            },
          },
        },
      }),
    });
    await complete('I have a dog.');
    await clock.advance(6000);
    expect(log).toEqual(Array(2).fill('A periodic task failed; it is tried again.'));
    expect(queue.waiting).toHaveLength(1);
  });
});

describe('housekeeping', () => {
  test('prunes in small batches until nothing is left, and pauses in between', async () => {
    const limits: number[] = [];
    const left = [200, 200, 7];
    const world = await makeWorld({
      deps: () => ({
        bus: {
          prune: async (_, limit) => {
            limits.push(limit);
            return left.shift() ?? 0;
          },
        },
      }),
    });
    await world.clock.advance(30_000);
    expect(limits).toHaveLength(1);
    await world.clock.advance(1000);
    expect(limits).toEqual([200, 200, 200]);
    await world.clock.advance(59_100);
    expect(limits).toHaveLength(4);
  });

  test('keeps events for as long as it was told, and goes on when one of the two fails', async () => {
    const { clock, pruned, log } = await makeWorld({
      deps: ({ store }) => ({
        store: {
          ...store,
          prune: async () => {
            throw unavailable('The store', new Error('away'));
          },
        },
      }),
    });
    await clock.advance(30_000);
    const now = clock.now();
    expect(pruned).toEqual([now - 3_600_000]);
    await clock.advance(60_000);
    expect(pruned).toHaveLength(2);
    expect(log).toHaveLength(2);
  });
});

describe('closing', () => {
  test('waits for what runs', async () => {
    const { complete, model, queue, worker, clock, texts, ann } = await makeWorld();
    await complete('I have a dog.');
    model.answer = () => [add('Has a dog.', 'I have a dog')];
    await queue.enqueue({ kind: 'extraction', ...ann });
    queue.running = queue.drain();
    await worker.close();
    expect(await texts()).toEqual(['Has a dog.']);
    await clock.advance(600_000);
    expect(queue.waiting).toEqual([]);
  });

  test('but no longer than 5 s: the model call ends, and the extraction stays pending', async () => {
    const { complete, model, queue, worker, clock, stateOf, ann } = await makeWorld();
    const turnId = await complete('I have a dog.');
    model.answer = () => 'hang';
    const job = { kind: 'extraction', ...ann } as const;
    const run = queue.handler?.(job, { id: 'job', attempt: ATTEMPTS, last: true });
    queue.running = Promise.resolve(run).catch(() => {});
    const closed = worker.close();
    await clock.advance(4900);
    expect(model.aborted).toBe(0);
    await clock.advance(200);
    await closed;
    await expect(run).rejects.toThrow();
    expect(model.aborted).toBe(1);
    expect(await stateOf(turnId)).toBe('pending');
  });

  test('begins no further extraction, but leaves a wake-up for it', async () => {
    const { complete, model, queue, worker, stateOf, ann } = await makeWorld();
    const ids = [await complete('First.'), await complete('Second.')];
    let closed: Promise<void> | undefined;
    model.answer = () => {
      closed = worker.close();
      return [];
    };
    queue.running = Promise.resolve(
      queue.handler?.({ kind: 'extraction', ...ann }, { id: 'job', attempt: 1, last: false }),
    );
    await queue.running;
    await closed;
    expect(await Promise.all(ids.map(stateOf))).toEqual(['done', 'pending']);
    expect(queue.waiting).toHaveLength(1);
  });
});

test('a memory that was extracted can be read, edited and deleted like any other', async () => {
  const { say, model, store } = await makeWorld();
  model.answer = () => [
    home('The user lives in Berlin.', 'I live in Berlin', 'Berlin', {
      kind: 'fact',
      keywords: ['city'],
      eventTime: '2026',
    }),
  ];
  await say('I live in Berlin.');
  const expected: Partial<Memory> = {
    slot: 'home',
    value: 'Berlin',
    keywords: ['city'],
    eventTime: '2026',
    quote: 'I live in Berlin',
  };
  expect(await store.memories.get('acme', 'mem_turn_1_1')).toMatchObject(expected);
  expect(await store.memories.get('other', 'mem_turn_1_1')).toBeNull();
  expect(await store.memories.delete('other', 'mem_turn_1_1')).toBe(false);
  expect(await store.memories.delete('acme', 'mem_turn_1_1')).toBe(true);
});
