import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '@turnwire/shared/domain/tenant';
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify';
import type { z } from 'zod';

/**
 * Requests have the types of their zod schemas. Answers are not checked against theirs here or at run time, since the
 * domain's data are read-only and trusted; the flow tests check them.
 */
interface ZodTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
  readonly serializer: unknown;
}

export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypes>;

/** Who may call a route: anybody, any key, or an admin's key. */
export type Access = 'open' | 'user' | 'admin';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls. Not set on `open` routes. */
    principal: Principal;
  }
  interface FastifyContextConfig {
    /** Default: `user`. */
    access?: Access;
    /** Refused while the server is about to stop. */
    beginsWork?: boolean;
  }
  interface FastifySchema {
    hide?: boolean;
  }
}
