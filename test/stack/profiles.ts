import { isSkipped } from './backends/is-skipped.ts';
import { missingServers } from './backends/servers.ts';
import { startDistributed, startOnServers } from './start-distributed.ts';
import { startTurnwire, type Turnwire, type TurnwireOptions } from './turnwire.ts';

/** A way to run the product. */
export interface Profile {
  readonly name: string;
  readonly agentWorkers: number;
  /** Whether leases of a dead process end when the next one starts; elsewhere they have to run out. */
  readonly recoversAtStart: boolean;
  start(options: TurnwireOptions): Promise<Turnwire>;
}

const EMBEDDED: Profile = { name: 'embedded', agentWorkers: 1, recoversAtStart: true, start: startTurnwire };
const DISTRIBUTED: Profile = { name: 'distributed', agentWorkers: 2, recoversAtStart: false, start: startDistributed };

/** One process on the three servers: a fourth of what it takes to kill and start a deployment a hundred times. */
const ON_SERVERS: Profile = { name: 'on servers', agentWorkers: 1, recoversAtStart: false, start: startOnServers };

/** The ways in which every flow has to hold. */
export function profiles(): readonly Profile[] {
  return isSkipped('the distributed profile', missingServers()) ? [EMBEDDED] : [EMBEDDED, DISTRIBUTED];
}

/** The ways in which every crash of the whole has to be survived. */
export function crashProfiles(): readonly Profile[] {
  return isSkipped('crashes of the distributed profile', missingServers()) ? [EMBEDDED] : [EMBEDDED, ON_SERVERS];
}
