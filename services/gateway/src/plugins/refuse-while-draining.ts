import { unavailable } from '@turnwire/shared/domain/errors';
import type { App } from '../app-type.ts';

/** Whether the server is about to stop: what has begun goes on, nothing is begun. */
export interface Drain {
  begun: boolean;
}

/** Sends callers elsewhere, or back later, who want to begin something. */
export function refuseWhileDraining(app: App, drain: Readonly<Drain>): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!drain.begun || request.routeOptions.config.beginsWork !== true) return;
    reply.header('connection', 'close'); // by which a balancer finds another server
    throw unavailable('The server', new Error('it is about to stop'));
  });
}
