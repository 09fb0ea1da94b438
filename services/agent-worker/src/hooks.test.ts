import type { AppError } from '@turnwire/shared/domain/errors';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import { type EmbeddedAdapters, makeEmbeddedAdapters } from '@turnwire/shared/testing/embedded-adapters';
import { breaks, calls, createScriptedModel, inOrder, says } from '@turnwire/shared/testing/scripted-model';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createBenchWorker, openBenchSession } from './testing/turn-bench.ts';

let adapters: EmbeddedAdapters;
beforeEach(async () => {
  adapters = await makeEmbeddedAdapters();
});
afterEach(() => adapters.close());

/** A turn that calls one tool and answers, or (`breaking`) whose model fails. */
async function play(hooks: Hooks, { breaking = false, advance = 0 } = {}) {
  const send = createScriptedTool('send', ({ to }) => `sent to ${String(to)}`);
  const sends = calls({ id: 'c1', name: 'send', arguments: { to: 'bob' } });
  const model = createScriptedModel(inOrder(...(breaking ? [breaks({ retry: false })] : [sends, says('Sent.')])));
  const client = await openBenchSession(adapters, { tools: ['send'] });
  const { id } = await client.accept('Hi');
  const done = createBenchWorker({ ...adapters, model, tools: [send], hooks }).run(client.key);
  await adapters.clock.advance(advance);
  await done;
  return { turn: await client.turn(id), client, model, send, told: model.requests[1]?.messages.at(-1)?.content };
}

/** Every hook, each noting that it was called. */
function noting(notes: unknown[]): Required<Hooks> {
  return {
    beforeSession: (context, { turn }) => void notes.push(['beforeSession', context.turnId === turn.id]),
    afterSession: (_, { turn }) => void notes.push(['afterSession', turn.status]),
    beforeModel: (_, { step }) => void notes.push(['beforeModel', step]) as undefined,
    afterModel: (_, { step, text, toolNames }) => void notes.push(['afterModel', step, text, toolNames]),
    beforeToolUse: (_, { name, arguments: args }) => void notes.push(['beforeToolUse', name, args]) as undefined,
    afterToolUse: (_, { ok, result }) => void notes.push(['afterToolUse', ok, result]) as undefined,
    onError: (_, { where, error }) => void notes.push(['onError', where, error.code]),
  };
}

describe('hooks', () => {
  test('may be absent, all of them', async () => {
    expect((await play({})).turn.status).toBe('COMPLETED');
  });

  test('are called in order, each with what it is about', async () => {
    const notes: unknown[] = [];
    await play(noting(notes));
    expect(notes).toEqual([
      ['beforeSession', true],
      ['beforeModel', 1],
      ['afterModel', 1, '', ['send']],
      ['beforeToolUse', 'send', { to: 'bob' }],
      ['afterToolUse', true, 'sent to bob'],
      ['beforeModel', 2],
      ['afterModel', 2, 'Sent.', []],
      ['afterSession', 'COMPLETED'],
    ]);
  });

  test('hear of a failure before the session’s end', async () => {
    const notes: unknown[] = [];
    await play(noting(notes), { breaking: true });
    expect(notes.slice(-2)).toEqual([
      ['onError', 'turn', 'model_error'],
      ['afterSession', 'FAILED'],
    ]);
  });

  test('may change the request, the arguments and the result', async () => {
    const { model, send, told } = await play({
      beforeModel: async (_, { request }) => ({ ...request, settings: { ...request.settings, temperature: 0 } }),
      beforeToolUse: () => ({ to: 'carol' }),
      afterToolUse: async (_, { result }) => result.toUpperCase(),
    });
    expect(model.requests.map(({ settings }) => settings.temperature)).toEqual([0, 0]);
    expect(send.runs[0]?.args).toEqual({ to: 'carol' });
    expect(told).toBe('SENT TO CAROL');
  });

  test('hear of a tool that failed', async () => {
    const broken = createScriptedTool('send', () => {
      throw new Error('no route');
    });
    const client = await openBenchSession(adapters, { tools: ['send'] });
    await client.accept('Hi');
    const model = createScriptedModel(inOrder(calls({ name: 'send' }), says('No.')));
    const hooks: Hooks = { afterToolUse: (_, { ok, result }) => `${result}, ${ok}` };
    await createBenchWorker({ ...adapters, model, tools: [broken], hooks }).run(client.key);
    expect(model.requests[1]?.messages.at(-1)?.content).toBe('no route, false');
  });
});

const throwing = () => {
  throw new Error('not today');
};

describe('a hook that throws', () => {
  test('refuses the turn as beforeSession, in its own words', async () => {
    const { turn, model } = await play({ beforeSession: throwing });
    expect(turn).toMatchObject({ status: 'FAILED', error: { code: 'refused_by_hook', message: 'not today' } });
    expect(model.requests).toEqual([]);
  });

  test.each(['beforeModel', 'afterModel'] as const)('fails the turn as %s, without its words', async (name) => {
    const { turn } = await play({ [name]: throwing });
    expect(turn).toMatchObject({ status: 'FAILED', error: { code: 'internal' } });
    expect(turn.error?.message).toContain(name);
    expect(turn.error?.message).not.toContain('not today');
  });

  test('is the cause of what onError hears', async () => {
    const told: AppError[] = [];
    await play({ beforeModel: throwing, onError: (_, { error }) => void told.push(error) });
    const causes = [told[0], told[0]?.cause, (told[0]?.cause as AppError | undefined)?.cause];
    expect(causes.map((error) => (error as Error).message).at(-1)).toBe('not today');
  });

  test('may throw by a promise of its own kind', async () => {
    // biome-ignore lint/suspicious/noThenProperty: that is what it is about
    const thenable = { then: (_: unknown, reject: (error: Error) => void) => reject(new Error('not today')) };
    const { turn } = await play({ beforeSession: () => thenable as unknown as Promise<void> });
    expect(turn).toMatchObject({ status: 'FAILED', error: { code: 'refused_by_hook', message: 'not today' } });
  });

  test.each([
    ['beforeToolUse', 0],
    ['afterToolUse', 1],
  ] as const)('is the call’s error as %s', async (name, runs) => {
    const { turn, told, send } = await play({ [name]: throwing });
    expect(turn.status).toBe('COMPLETED');
    expect(told).toBe('not today');
    expect(send.runs).toHaveLength(runs);
  });

  test.each(['afterSession', 'onError'] as const)('is only logged as %s, and the others are called', async (name) => {
    const notes: unknown[] = [];
    const { turn } = await play({ ...noting(notes), [name]: throwing }, { breaking: true });
    expect(turn).toMatchObject({ status: 'FAILED', error: { code: 'model_error' } });
    expect(notes.at(-1)).toEqual(name === 'onError' ? ['afterSession', 'FAILED'] : ['onError', 'turn', 'model_error']);
    expect(adapters.log.lines.some(({ message }) => message.startsWith(`The hook ${name} failed`))).toBe(true);
  });

  test('keeps what clients were shown before afterModel', async () => {
    const client = await openBenchSession(adapters);
    await client.accept('Hi');
    const model = createScriptedModel(() => says('Shown.'));
    await createBenchWorker({ ...adapters, model, hooks: { afterModel: throwing } }).run(client.key);
    expect((await client.messages()).at(-1)).toMatchObject({ content: 'Shown.', status: 'partial' });
  });
});

describe('a hook that hangs', () => {
  const hanging = () => new Promise<never>(() => undefined);

  test.each([
    ['beforeSession', 'refused_by_hook'],
    ['beforeModel', 'internal'],
    ['afterModel', 'internal'],
  ] as const)('counts as failed after 10 s as %s', async (name, code) => {
    const { turn } = await play({ [name]: hanging }, { advance: 10_000 });
    expect(turn).toMatchObject({ status: 'FAILED', error: { code } });
    expect((turn.finishedAt ?? 0) - turn.createdAt).toBe(10_000);
  });

  test.each(['beforeToolUse', 'afterToolUse'] as const)('is the call’s error after 10 s as %s', async (name) => {
    const { turn, told } = await play({ [name]: hanging }, { advance: 10_000 });
    expect(turn.status).toBe('COMPLETED');
    expect(told).toBe(`The hook ${name} did not answer within 10000 ms.`);
  });

  test.each([
    ['afterSession', false],
    ['onError', true],
  ] as const)('does not hold the turn’s end back as %s', async (name, breaking) => {
    const { turn } = await play({ [name]: hanging }, { breaking, advance: 10_000 });
    expect(turn.finishedAt).toBe(turn.createdAt);
  });

  test.each(['beforeModel', 'beforeToolUse', 'afterToolUse'] as const)(
    'does not hold a cancel back as %s',
    async (name) => {
      const send = createScriptedTool('send', () => 'sent');
      const model = createScriptedModel(inOrder(calls({ name: 'send' }), says('Sent.')));
      const client = await openBenchSession(adapters, { tools: ['send'] });
      const { id } = await client.accept('Hi');
      const done = createBenchWorker({ ...adapters, model, tools: [send], hooks: { [name]: hanging } }).run(client.key);
      await adapters.clock.advance(0);
      await client.cancel();
      await done;
      expect(await client.turn(id)).toMatchObject({ status: 'CANCELLED' });
      // What a person or a model reads of the call must not be that a hook was stopped.
      for (const { state } of await client.toolCalls(id)) expect(state).toBe('unknown');
    },
  );
});
