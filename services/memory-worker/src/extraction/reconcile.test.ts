import { patchMemory } from '@turnwire/shared/domain/decide-memory';
import type { Memory, MemoryChanges } from '@turnwire/shared/domain/memory';
import { exampleMemory } from '@turnwire/shared/recall/example-memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Statement } from './check-proposed.ts';
import { reconcile } from './reconcile.ts';
import { sameFact } from './same-fact.ts';

const SAID_AT = Date.UTC(2026, 0, 1, 12);
const context = {
  turn: { id: 'turn_1', tenantId: 'acme', userId: 'ann', sessionId: 'ses_1' },
  saidAt: SAID_AT,
  now: SAID_AT + 5000,
};

function statement(text: string, more: Partial<Statement> = {}): Statement {
  return {
    text,
    quote: text,
    kind: null,
    subject: null,
    slot: null,
    value: null,
    cardinality: 'many',
    keywords: [],
    eventTime: null,
    targetId: null,
    ...more,
  };
}

function home(text: string, value: string, more: Partial<Statement> = {}): Statement {
  return statement(text, { subject: 'user', slot: 'home', value, cardinality: 'one', ...more });
}

function run(
  statements: readonly Statement[],
  valid: readonly Memory[],
  deletions: readonly string[] = [],
): MemoryChanges {
  return reconcile({ statements, deletions }, valid, context);
}

/** What is valid once the changes are stored. */
function apply(valid: readonly Memory[], { added, closed }: MemoryChanges): readonly Memory[] {
  return [...valid.filter(({ id }) => !closed.some((closing) => closing.id === id)), ...added];
}

const paris = exampleMemory('mem_paris', 'The user lives in Paris.', {
  subject: 'user',
  slot: 'home',
  value: 'Paris',
  sourceTurnId: 'turn_0',
});

describe('a fact that a person reworded', () => {
  const { memory: turin } = patchMemory(paris, { text: 'The user lives in Turin.' }, SAID_AT - 1);

  test('is not said again by who says the same', () => {
    expect(run([home('The user lives in Turin.', 'Turin')], [turin])).toEqual({ added: [], closed: [] });
  });

  test('is closed by who says that it has changed, also back to what it was', () => {
    for (const city of ['Paris', 'Oslo']) {
      const { added, closed } = run([home(`The user lives in ${city}.`, city)], [turin]);
      expect(added.map(({ value }) => value)).toEqual([city]);
      expect(closed).toEqual([{ id: 'mem_paris', validTo: SAID_AT, supersededBy: added[0]?.id }]);
    }
  });

  test('wins over what was said before', () => {
    const { memory: later } = patchMemory(paris, { text: 'The user lives in Turin.' }, SAID_AT + 1);
    expect(run([home('The user lives in Oslo.', 'Oslo')], [later])).toEqual({ added: [], closed: [] });
  });
});

describe('a new fact', () => {
  test('is added with its evidence, from when it was said', () => {
    const { added, closed } = run(
      [home('The user lives in Berlin.', 'Berlin', { quote: 'I live in Berlin', keywords: ['city'] })],
      [],
    );
    expect(closed).toEqual([]);
    expect(added).toEqual([
      {
        id: 'mem_turn_1_1',
        tenantId: 'acme',
        userId: 'ann',
        text: 'The user lives in Berlin.',
        kind: 'fact',
        subject: 'user',
        slot: 'home',
        value: 'Berlin',
        keywords: ['city'],
        eventTime: null,
        quote: 'I live in Berlin',
        sourceSessionId: 'ses_1',
        sourceTurnId: 'turn_1',
        validFrom: SAID_AT,
        validTo: null,
        supersededBy: null,
        createdAt: SAID_AT + 5000,
        updatedAt: SAID_AT + 5000,
      },
    ]);
  });

  test('ids are of the turn and the place', () => {
    const { added } = run([statement('Likes tea.'), statement('Likes tea!'), statement('Has a dog.')], []);
    expect(added.map(({ id }) => id)).toEqual(['mem_turn_1_1', 'mem_turn_1_3']);
  });

  test('values of a many-valued slot stand side by side', () => {
    const tea = exampleMemory('mem_tea', 'Likes tea.', { slot: 'likes', value: 'tea' });
    const { added, closed } = run([statement('Likes coffee.', { slot: 'likes', value: 'coffee' })], [tea]);
    expect([added.length, closed]).toEqual([1, []]);
  });
});

describe('E5: the same fact is one memory', () => {
  test.each([
    'The user lives in Paris.',
    'the user is  living in PARIS',
    'User currently lives in Paris!',
    'I live in Paris',
    'The user now lives in Paris.',
    'Ｔｈｅ ｕｓｅｒ lives in Paris',
  ])('%j', (text) => {
    expect(run([statement(text)], [paris])).toEqual({ added: [], closed: [] });
  });

  test.each([
    ['用户住在杭州。', '我住在杭州'],
    ['用户现在住在杭州。', '用户现在住在杭州'],
  ])('%j: %j', (known, text) => {
    expect(run([statement(text)], [exampleMemory('mem_1', known)])).toEqual({ added: [], closed: [] });
  });

  test.each([
    ['Has his home in Paris.', 'Paris', 'user'],
    ['Paris is where the user’s flat is.', 'paris', 'the user'],
    ['用户的家在巴黎(Paris)。', 'PARIS', '用户'],
  ])('by slot and value: %j', (text, value, subject) => {
    expect(run([home(text, value, { subject })], [paris])).toEqual({ added: [], closed: [] });
  });

  test.each([
    ['The user lives in Berlin.', 'The user does not live in Berlin.'],
    ['The user flies from Berlin.', 'The user flies to Berlin.'],
    ['Ann likes Bob.', 'Bob likes Ann.'],
    ['She lives in Berlin.', 'The user lives in Berlin.'],
    ['The user was a nurse.', 'The user is a nurse.'],
    ['用户吃辣。', '用户不吃辣。'],
  ])('not the same: %j and %j', (one, other) => {
    expect(sameFact(statement(one), statement(other))).toBe(false);
  });
});

describe('a contradiction supersedes, and the history stays', () => {
  test('another value of a single-valued slot', () => {
    const { added, closed } = run([home('The user lives in Berlin.', 'Berlin')], [paris]);
    expect(added.map(({ text }) => text)).toEqual(['The user lives in Berlin.']);
    expect(closed).toEqual([{ id: 'mem_paris', validTo: SAID_AT, supersededBy: 'mem_turn_1_1' }]);
  });

  test('not of another subject or slot', () => {
    const others = [
      home('Bob lives in Berlin.', 'Berlin', { subject: 'Bob' }),
      home('Has work in Berlin.', 'Berlin', { slot: 'workplace' }),
    ];
    expect(run(others, [paris]).closed).toEqual([]);
  });

  test('of several values in one answer the last counts', () => {
    const { added, closed } = run([home('Lives in Berlin.', 'Berlin'), home('Lives in Rome.', 'Rome')], [paris]);
    expect(added.map(({ value }) => value)).toEqual(['Rome']);
    expect(closed).toEqual([{ id: 'mem_paris', validTo: SAID_AT, supersededBy: 'mem_turn_1_2' }]);
  });

  test('an update replaces its target', () => {
    const { added, closed } = run([statement('Moved to Berlin.', { targetId: 'mem_paris' })], [paris]);
    expect(added).toHaveLength(1);
    expect(closed).toEqual([{ id: 'mem_paris', validTo: SAID_AT, supersededBy: 'mem_turn_1_1' }]);
  });

  test('an update to what is known already leaves the known one', () => {
    const berlin = exampleMemory('mem_berlin', 'Lives in Berlin.');
    expect(run([statement('lives in Berlin', { targetId: 'mem_paris' })], [paris, berlin])).toEqual({
      added: [],
      closed: [{ id: 'mem_paris', validTo: SAID_AT, supersededBy: 'mem_berlin' }],
    });
  });

  test('an update that says the same changes nothing', () => {
    expect(run([statement('The user lives in Paris', { targetId: 'mem_paris' })], [paris])).toEqual({
      added: [],
      closed: [],
    });
  });

  test('an update may split one memory into two', () => {
    const { added, closed } = run(
      [
        statement('Lives in Berlin.', { targetId: 'mem_paris' }),
        statement('Works in Potsdam.', { targetId: 'mem_paris' }),
      ],
      [paris],
    );
    expect([added.length, closed.length]).toEqual([2, 1]);
  });

  test('a deletion closes', () => {
    expect(run([], [paris], ['mem_paris'])).toEqual({
      added: [],
      closed: [{ id: 'mem_paris', validTo: SAID_AT, supersededBy: null }],
    });
  });

  test('a deletion of what has gone does nothing', () => {
    expect(run([], [], ['mem_paris'])).toEqual({ added: [], closed: [] });
  });
});

describe('E13: a late extraction does not undo a newer word', () => {
  const later = SAID_AT + 1000;

  test.each([
    ['edited by the user since', { updatedAt: later }],
    ['entered by the user since', { createdAt: later, updatedAt: later, sourceTurnId: null }],
    ['said in a later turn', { validFrom: later, createdAt: later + 10, updatedAt: later + 10 }],
  ])('%s', (_, more) => {
    const edited = { ...paris, ...more };
    expect(run([home('The user lives in Berlin.', 'Berlin')], [edited])).toEqual({ added: [], closed: [] });
    expect(run([statement('Moved away.', { targetId: edited.id })], [edited])).toEqual({ added: [], closed: [] });
    expect(run([], [edited], [edited.id])).toEqual({ added: [], closed: [] });
  });

  test('an extraction that was only stored since is no newer word', () => {
    const stored = { ...paris, validFrom: SAID_AT - 1, createdAt: later, updatedAt: later };
    expect(run([home('The user lives in Berlin.', 'Berlin')], [stored]).closed).toHaveLength(1);
  });
});

describe('properties', () => {
  const texts = fc.constantFrom(
    'Likes tea.',
    'Likes coffee.',
    'Lives in Rome.',
    'lives in rome',
    '住在杭州。',
    '用户住在杭州',
  );
  const option = (...values: readonly string[]) => fc.constantFrom(null, ...values);
  const existing = fc
    .array(fc.record({ text: texts, slot: option('a', 'b'), value: option('1', '2'), age: fc.constantFrom(-10, 10) }), {
      maxLength: 5,
    })
    .map((list) =>
      list.map(({ age, ...more }, index) =>
        exampleMemory(`mem_${index}`, more.text, { ...more, updatedAt: SAID_AT + age, sourceTurnId: 'turn_0' }),
      ),
    );
  const statements = fc.array(
    fc
      .record({
        text: texts,
        slot: option('a', 'b'),
        value: option('1', '2'),
        cardinality: fc.constantFrom('one' as const, 'many' as const),
        targetId: option('mem_0', 'mem_1', 'mem_9'),
      })
      .map(({ text, ...more }) => statement(text, more)),
    { maxLength: 6 },
  );
  const deletions = fc.array(fc.constantFrom('mem_0', 'mem_2', 'mem_9'), { maxLength: 2 });

  test('applied once, the same proposals change nothing more', () => {
    fc.assert(
      fc.property(statements, existing, deletions, (items, valid, gone) => {
        const after = apply(valid, run(items, valid, gone));
        expect(run(items, after, gone)).toEqual({ added: [], closed: [] });
      }),
      { numRuns: 1000 },
    );
  });

  test('only what was valid is closed, each once, and for something that is there', () => {
    fc.assert(
      fc.property(statements, existing, deletions, (items, valid, gone) => {
        const { added, closed } = run(items, valid, gone);
        const ids = closed.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.every((id) => valid.some((memory) => memory.id === id))).toBe(true);
        const after = apply(valid, { added, closed });
        for (const { supersededBy } of closed) {
          if (supersededBy !== null) expect(after.map(({ id }) => id)).toContain(supersededBy);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('what is added is new', () => {
    fc.assert(
      fc.property(statements, existing, (items, valid) => {
        const { added, closed } = run(items, valid);
        const after = apply(valid, { added: [], closed });
        for (const [index, memory] of added.entries()) {
          const others = [...after, ...added.slice(0, index)];
          expect(others.some((other) => sameFact(memory, other))).toBe(false);
        }
      }),
    );
  });
});
