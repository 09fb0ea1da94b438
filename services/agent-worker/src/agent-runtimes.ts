import type { Agent } from '@turnwire/shared/domain/agent';
import { AppError } from '@turnwire/shared/domain/errors';
import type { Turn } from '@turnwire/shared/domain/turn';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { AgentStore } from '@turnwire/shared/ports/config-store';
import type { Engine } from './react/engine.ts';

/** What runs turns of one revision of an agent. Shared over sessions, so it knows no tenant, user or session. */
export interface AgentRuntime {
  readonly agent: Agent;
  readonly engine: Engine;
}

export interface AgentRuntimes {
  /** The runtime of the turn's agent. Throws `agent_not_found`. */
  load(turn: Turn): Promise<AgentRuntime>;
}

/** How long a runtime that nobody uses is kept. */
const KEEP_MS = 35 * 60_000;

/** Loads the configuration on every turn, and reuses what was built for the same revision. */
export function createAgentRuntimes(
  agents: AgentStore,
  clock: Clock,
  createEngine: (agent: Agent) => Engine,
): AgentRuntimes {
  const cached = new Map<string, { runtime: AgentRuntime; usedAt: number }>();

  function evict(now: number): void {
    // In order of last use, so the first one that is young enough ends the search.
    for (const [key, { usedAt }] of cached) {
      if (now - usedAt < KEEP_MS) return;
      cached.delete(key);
    }
  }

  function runtimeOf(agent: Agent): AgentRuntime {
    const now = clock.now();
    const key = JSON.stringify([agent.tenantId, agent.id, agent.revision]);
    const runtime = cached.get(key)?.runtime ?? { agent, engine: createEngine(agent) };
    cached.delete(key);
    cached.set(key, { runtime, usedAt: now });
    evict(now);
    return runtime;
  }

  return {
    async load({ tenantId, agentId, agentRevision }) {
      const agent = await (agentRevision === null
        ? agents.get(tenantId, agentId)
        : agents.getRevision(tenantId, agentId, agentRevision));
      if (agent === null) throw new AppError('agent_not_found', `The agent "${agentId}" does not exist any more.`);
      return runtimeOf(agent);
    },
  };
}
