import { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import type { Turn } from '@turnwire/shared/domain/turn';
import { makeSqliteStore, type SqliteHarness } from '@turnwire/shared/testing/sqlite-store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAgentRuntimes } from './agent-runtimes.ts';
import type { Engine } from './react/engine.ts';

let harness: SqliteHarness;
beforeEach(async () => {
  harness = await makeSqliteStore();
});
afterEach(() => harness.close());

const MINUTE = 60_000;

function turnOf(agentRevision: number | null, tenantId = 'acme'): Turn {
  return { tenantId, agentId: 'agent', agentRevision } as Turn;
}

async function setup() {
  const built: number[] = [];
  const runtimes = createAgentRuntimes(harness.store.agents, harness.clock, ({ revision }) => {
    built.push(revision);
    return {} as Engine;
  });
  const put = (name: string, tenantId = 'acme') =>
    harness.store.agents.put(tenantId, 'agent', agentSettingsSchema.parse({ name }));
  await put('one');
  return { built, runtimes, put };
}

describe('runtimes', () => {
  test('are built once for a revision, and the configuration is read each time', async () => {
    const { built, runtimes, put } = await setup();
    await runtimes.load(turnOf(null));
    await runtimes.load(turnOf(null));
    expect(built).toEqual([1]);
    await put('two');
    expect((await runtimes.load(turnOf(null))).agent.name).toBe('two');
    expect((await runtimes.load(turnOf(1))).agent.name).toBe('one');
    expect(built).toEqual([1, 2]);
  });

  test('are kept for 35 minutes after their last use', async () => {
    const { built, runtimes, put } = await setup();
    await put('other', 'globex');
    await runtimes.load(turnOf(null));
    await harness.clock.advance(34 * MINUTE);
    await runtimes.load(turnOf(null));
    await harness.clock.advance(34 * MINUTE);
    await runtimes.load(turnOf(null));
    expect(built).toHaveLength(1);
    await harness.clock.advance(35 * MINUTE);
    await runtimes.load(turnOf(null, 'globex'));
    await runtimes.load(turnOf(null));
    expect(built).toHaveLength(3);
  });

  test('that were used long ago go, though others were used in the meantime', async () => {
    const { built, runtimes, put } = await setup();
    await put('other', 'globex');
    await runtimes.load(turnOf(null));
    await runtimes.load(turnOf(null, 'globex'));
    await harness.clock.advance(34 * MINUTE);
    await runtimes.load(turnOf(null));
    await harness.clock.advance(2 * MINUTE);
    await runtimes.load(turnOf(null));
    expect(built).toHaveLength(2);
    await runtimes.load(turnOf(null, 'globex'));
    expect(built).toHaveLength(3);
  });

  test('are never those of another tenant', async () => {
    const { runtimes, put } = await setup();
    await put('theirs', 'globex');
    expect((await runtimes.load(turnOf(null, 'globex'))).agent).toMatchObject({ name: 'theirs', tenantId: 'globex' });
    expect((await runtimes.load(turnOf(null))).agent.tenantId).toBe('acme');
  });

  test('of an agent that is gone are none', async () => {
    const { runtimes } = await setup();
    await runtimes.load(turnOf(1));
    await harness.store.agents.delete('acme', 'agent');
    await expect(runtimes.load(turnOf(1))).rejects.toMatchObject({ code: 'agent_not_found' });
    await expect(runtimes.load(turnOf(null))).rejects.toMatchObject({ code: 'agent_not_found' });
  });
});
