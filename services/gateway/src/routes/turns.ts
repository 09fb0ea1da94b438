import { resumeSchema, settleCommand } from '@turnwire/shared/contracts/http-resume';
import { sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { postTurnSchema, turnSchema } from '@turnwire/shared/contracts/http-turns';
import { sessionView, turnView } from '@turnwire/shared/contracts/views';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { idempotencyOf, markReplay } from '../plugins/idempotency.ts';
import { traceparentOf } from '../plugins/trace-context.ts';
import { eventStreamSchema } from '../sse/event-stream-schema.ts';
import { announcementFrame } from '../sse/frame.ts';
import { streamTurn } from '../sse/stream-turn.ts';
import { wantsEvents } from '../sse/wants-events.ts';
import { acceptTurn, queuedAnnouncement } from '../turns/accept-turn.ts';
import { resumeTurn } from '../turns/resume-turn.ts';
import type { RouteDeps } from './route-deps.ts';
import { sessionKeyOf } from './session-key.ts';

const tags = ['turns'];
const params = z.object({ id: z.string() });

/** What begins or goes on with a turn: both can be followed at once, as an event stream. */
export function turnRoutes(app: App, deps: RouteDeps): void {
  postTurnRoute(app, deps);
  resumeRoute(app, deps);
}

function postTurnRoute(app: App, deps: RouteDeps): void {
  app.route({
    method: 'POST',
    url: '/v1/sessions/:id/turns',
    config: { beginsWork: true },
    schema: {
      operationId: 'postTurn',
      summary: "Post a user's text; with `Accept: text/event-stream`, follow the turn",
      tags,
      params,
      body: postTurnSchema,
      response: { 200: eventStreamSchema('The events of the turn, up to its end or interrupt'), 202: turnSchema },
    },
    handler: async (request, reply) => {
      const key = sessionKeyOf(request, request.params.id);
      const idempotency = idempotencyOf(request);
      const accept = () =>
        acceptTurn(deps, key, { turnId: deps.ids.next('turn'), ...request.body }, idempotency, traceparentOf(request));
      if (!wantsEvents(request)) {
        const { value, replayed } = await accept();
        return markReplay(reply, replayed).code(202).send(turnView(value.turn));
      }
      await streamTurn(deps, deps.streams, key, { request, reply }, async () => {
        const { value, replayed } = await accept();
        const preface = replayed ? '' : announcementFrame(queuedAnnouncement(value));
        return { turnId: value.turn.id, cursor: value.cursor, replayed, preface };
      });
      return reply;
    },
  });
}

function resumeRoute(app: App, deps: RouteDeps): void {
  app.route({
    method: 'POST',
    url: '/v1/sessions/:id/resume',
    config: { beginsWork: true },
    schema: {
      operationId: 'resumeTurn',
      summary: 'Decide what a waiting turn asks; without a body, approve',
      tags,
      params,
      body: resumeSchema,
      response: {
        200: {
          description:
            'Calls are still undecided: the session. Otherwise, on request: the events from `turn.resumed` on',
          content: {
            'application/json': { schema: sessionSchema },
            ...eventStreamSchema('').content,
          },
        },
        202: turnSchema,
      },
    },
    handler: async (request, reply) => {
      const key = sessionKeyOf(request, request.params.id);
      const command = settleCommand(request.body);
      const idempotency = idempotencyOf(request);
      const resume = async () => {
        const settlement = await resumeTurn(deps, key, command, idempotency, traceparentOf(request));
        markReplay(reply, settlement.replayed);
        return settlement;
      };
      if (!wantsEvents(request)) {
        const { turn, session, settled } = (await resume()).value;
        return settled ? reply.code(202).send(turnView(turn)) : sessionView(session);
      }
      await streamTurn(deps, deps.streams, key, { request, reply }, async () => {
        const { value, replayed } = await resume();
        const { turn, session, settled, cursor } = value;
        if (settled) return { turnId: turn.id, cursor, replayed, preface: '' };
        void reply.send(sessionView(session));
        return null;
      });
      return reply;
    },
  });
}
