import { z } from 'zod';
import type { App } from '../app-type.ts';
import { eventStreamSchema } from '../sse/event-stream-schema.ts';
import { cursorOf, knownTail, viewFrom } from '../sse/stream-start.ts';
import type { RouteDeps } from './route-deps.ts';
import { noSuchSession, sessionKeyOf } from './session-key.ts';

export function eventRoutes(app: App, { store, streams }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/v1/sessions/:id/events',
    exposeHeadRoute: false, // there is no end to come to
    schema: {
      operationId: 'streamEvents',
      summary: "Follow a session's events; the stream stays open",
      description: '`Last-Event-ID` resumes after an event, and wins over `after`.',
      tags: ['events'],
      params: z.object({ id: z.string() }),
      headers: z.looseObject({ 'last-event-id': z.string().optional() }),
      querystring: z.object({
        after: z.string().optional().describe('Id of an event; 0 or -1: all that is in the log; absent: from now on'),
        turnId: z.string().min(1).max(200).optional().describe("Only this turn's events"),
      }),
      response: { 200: eventStreamSchema('The events') },
    },
    handler: async (request, reply) => {
      const key = sessionKeyOf(request, request.params.id);
      const { after, turnId = null } = request.query;
      const cursor = cursorOf(request.headers['last-event-id'], after);
      // First the place on the stream, then the state: what happens in between is not missed.
      const seat = await streams.join(key);
      try {
        const session = await store.sessions.get(key);
        if (session === null) throw noSuchSession(request.params.id);
        reply.hijack();
        seat.open(reply.raw, {
          view: viewFrom(session, cursor, turnId),
          headers: { 'x-request-id': request.id },
          preface: '',
          known: { tail: knownTail(session), turnIsOver: false },
        });
      } catch (error) {
        seat.leave();
        throw error;
      }
      return reply;
    },
  });
}
