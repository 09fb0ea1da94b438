import type { GatewayDeps } from '../gateway-deps.ts';
import type { Drain } from '../plugins/refuse-while-draining.ts';
import type { EventStreams } from '../sse/event-streams.ts';

export interface RouteDeps extends GatewayDeps {
  readonly streams: EventStreams;
  readonly drain: Readonly<Drain>;
}
