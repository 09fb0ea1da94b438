import { type Servers, startServers } from './backends/servers.ts';
import type { ServerProcess } from './server-process.ts';
import { startTurnwire, type Turnwire, type TurnwireOptions } from './turnwire.ts';

/** Every service as a process of its own, and two agent workers of them, on servers of their own. */
const PROCESSES = ['agent-worker', 'agent-worker', 'memory-worker', 'gateway'] as const;

export type Service = (typeof PROCESSES)[number];

/** With its servers and single processes at hand. */
export interface Deployment extends Turnwire {
  readonly servers: Servers;
  /** The processes of a service, oldest first; those that have ended too. */
  of(service: Service): readonly ServerProcess[];
  /** Starts one more. */
  addOne(service: Service, env?: Readonly<Record<string, string>>): Promise<ServerProcess>;
}

export function startDistributed(options: TurnwireOptions): Promise<Deployment> {
  return startOnServers({ entries: PROCESSES.map(entryOf), ...options });
}

/** Whatever is to run, on servers of its own. */
export async function startOnServers(options: TurnwireOptions): Promise<Deployment> {
  const servers = await startServers();
  try {
    const turnwire = await startTurnwire({ ...options, env: { ...servers.env, ...options.env } });
    return {
      ...turnwire,
      get processes() {
        return turnwire.processes;
      },
      servers,
      of: (service) => turnwire.processes.filter(({ entry }) => entry === entryOf(service)),
      addOne: (service, env) => turnwire.add(entryOf(service), env),
      async close() {
        await turnwire.close();
        await servers.close();
      },
    };
  } catch (error) {
    await servers.close();
    throw error;
  }
}

function entryOf(service: Service): string {
  return `services/${service}/src/main.ts`;
}
