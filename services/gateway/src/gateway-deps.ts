import type { Role } from '@turnwire/shared/domain/tenant';
import type { Clock, Ids } from '@turnwire/shared/ports/clock';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import type { JobQueue } from '@turnwire/shared/ports/job-queue';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Metrics } from '@turnwire/shared/ports/metrics';
import type { ReadinessCheck } from '@turnwire/shared/ports/readiness';
import type { Store } from '@turnwire/shared/ports/store';

export interface ApiKey {
  readonly key: string;
  readonly tenantId: string;
  readonly role: Role;
}

export interface GatewayDeps {
  readonly store: Store;
  readonly queue: JobQueue;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: Metrics & { text(): Promise<string>; readonly contentType: string };
  readonly readiness: ReadinessCheck;
  /** The server's default model, for `/readyz`. */
  readonly model: { readonly label: string; readonly demo: boolean };
  /** None: everything is tenant `default` with role admin, on a loopback address only. */
  readonly apiKeys: readonly ApiKey[];
  /** Whether an MCP server may be a command that runs on this machine. */
  readonly toolsAllowStdio: boolean;
  /** Null: `/metrics` is open. */
  readonly metricsKey: string | null;
}
