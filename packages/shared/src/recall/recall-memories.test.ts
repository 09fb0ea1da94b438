import { describe, expect, test } from 'vitest';
import { createSystemClock } from '../adapters/system/clock.ts';
import type { Memory } from '../domain/memory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { Logger } from '../ports/logger.ts';
import type { UserKey } from '../ports/memory-store.ts';
import { exampleMemory } from './example-memory.ts';
import { type RecallDeps, type RecallInput, recallMemories } from './recall-memories.ts';

function memory(id: string, text: string, day = 1): Memory {
  return exampleMemory(id, text, { validFrom: Date.UTC(2025, 0, day) });
}

/** More than can be given whole: 100 memories about as many places. */
const many = Array.from({ length: 100 }, (_, n) =>
  memory(
    `mem_${n}`,
    `The user once spent a long holiday in place${n}x and came back with a lot of stories, most of which were about the food and the people there, and none about museums.`,
    n % 28,
  ),
);
const withDog = [...many.slice(0, 50), memory('dog', 'The user has a dog named Rex.'), ...many.slice(50)];

/** A dog is near an animal, whatever the words; all else is near nothing. */
const embedder: Embedder = {
  embed: async (texts) => texts.map((text) => Float32Array.from(/dog|animal/.test(text) ? [1, 0] : [0, 1])),
};

function world(memories: readonly Memory[] | Error, options: { embedder?: Embedder; clock?: Clock } = {}) {
  const warnings: string[] = [];
  const asked: UserKey[] = [];
  const log: Logger = {
    debug() {},
    info() {},
    warn: (_, message) => warnings.push(message),
    error() {},
    child: () => log,
  };
  const deps: RecallDeps = {
    memories: {
      async valid(user) {
        asked.push(user);
        if (memories instanceof Error) throw memories;
        return memories;
      },
    },
    embedder: options.embedder ?? null,
    clock: options.clock ?? createSystemClock(),
    log,
  };
  const recall = (input: Partial<RecallInput>) =>
    recallMemories(deps, {
      tenantId: 'acme',
      userId: 'ann',
      text: '',
      topK: 8,
      signal: new AbortController().signal,
      ...input,
    });
  return { recall, warnings, asked };
}

/** A clock whose limits are reached at once. */
const hurriedClock: Clock = {
  ...createSystemClock(),
  after(_ms, fn) {
    const timer = setTimeout(fn, 1);
    return () => clearTimeout(timer);
  },
};

describe('a few memories', () => {
  test('are all given, the oldest first, whatever the text', async () => {
    const { recall, asked, warnings } = world([memory('b', 'Likes tea.', 3), memory('a', '住在杭州。', 1)]);
    const { block, memoryIds } = await recall({ text: 'hello', topK: 1 });
    expect(memoryIds).toEqual(['a', 'b']);
    expect(block).toContain('- [2025-01-01] 住在杭州。\n- [2025-01-03] Likes tea.');
    expect(asked).toEqual([{ tenantId: 'acme', userId: 'ann' }]);
    expect(warnings).toEqual([]);
  });

  test('none, or none wanted: nothing', async () => {
    expect(await world([]).recall({})).toEqual({ block: '', memoryIds: [] });
    const off = world([memory('a', 'Likes tea.')]);
    expect(await off.recall({ topK: 0 })).toEqual({ block: '', memoryIds: [] });
    expect(off.asked).toEqual([]);
  });
});

describe('many memories', () => {
  test.each([
    ['what is my dog called?', 8, ['dog']],
    ['which stories came from place7x?', 1, ['mem_7']],
    ['nothing of the sort', 8, []],
  ])('%j', async (text, topK, expected) => {
    expect((await world(withDog).recall({ text, topK })).memoryIds).toEqual(expected);
  });

  test('as many as topK', async () => {
    expect((await world(withDog).recall({ text: 'holiday stories', topK: 5 })).memoryIds).toHaveLength(5);
  });

  test('no more than the block may hold', async () => {
    const long = Array.from({ length: 60 }, (_, n) => memory(`mem_${n}`, `Tea ${n} ${'word '.repeat(190)}`));
    const { block, memoryIds } = await world(long).recall({ text: 'tea', topK: 100 });
    expect(memoryIds.length).toBeGreaterThan(10);
    expect(block.length).toBeLessThan(17_000);
  });

  test('an embedder finds what shares no word with the text', async () => {
    const few = [...many.slice(0, 44), memory('dog', 'The user has a dog named Rex.')];
    expect((await world(few).recall({ text: 'my animal', topK: 1 })).memoryIds).toEqual([]);
    const { recall, warnings } = world(few, { embedder });
    expect((await recall({ text: 'my animal', topK: 1 })).memoryIds).toEqual(['dog']);
    expect(warnings).toEqual([]);
  });

  test('each text is embedded once; the text of the turn always', async () => {
    const batches: (readonly string[])[] = [];
    const counting: Embedder = {
      embed(texts, signal) {
        batches.push(texts);
        return embedder.embed(texts, signal);
      },
    };
    const { recall } = world(many.slice(0, 45), { embedder: counting });
    await recall({ text: 'first' });
    await recall({ text: 'second' });
    expect(batches.map((batch) => batch.length)).toEqual([46, 1]);
    expect(batches[1]).toEqual(['second']);
  });
});

describe('failures', () => {
  const stuck: Embedder = { embed: () => new Promise(() => {}) };
  const broken: Embedder = {
    embed: async () => {
      throw new Error('away');
    },
  };
  const short: Embedder = { embed: async () => [Float32Array.from([1])] };

  test.each([
    ['hangs', stuck, hurriedClock],
    ['fails', broken, createSystemClock()],
    ['answers too little', short, createSystemClock()],
  ])('an embedder that %s: words alone, and a warning', async (_, failing, clock) => {
    const { recall, warnings } = world(withDog, { embedder: failing, clock });
    expect((await recall({ text: 'my dog' })).memoryIds).toEqual(['dog']);
    expect(warnings).toEqual(['The embedding model failed; memories are recalled by words alone.']);
  });

  test('the embedder is told to stop at the limit', async () => {
    const signals: AbortSignal[] = [];
    const listening: Embedder = { embed: (_, signal) => new Promise(() => signals.push(signal)) };
    await world(withDog, { embedder: listening, clock: hurriedClock }).recall({ text: 'my dog' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('a store that is away: nothing, and a warning', async () => {
    const { recall, warnings } = world(new Error('away'));
    expect(await recall({ text: 'my dog' })).toEqual({ block: '', memoryIds: [] });
    expect(warnings).toEqual(['Memories could not be recalled; the turn goes on without them.']);
  });

  test('a turn that was aborted: nothing', async () => {
    expect(await world(withDog).recall({ text: 'my dog', signal: AbortSignal.abort() })).toEqual({
      block: '',
      memoryIds: [],
    });
  });
});
