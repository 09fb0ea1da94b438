import { isUtf8 } from 'node:buffer';
import { AppError } from '@turnwire/shared/domain/errors';
import type { App } from '../app-type.ts';
import { ProtocolError } from './problem.ts';

// Deeper than any JSON Schema of a tool; well below what recursive code and BSON (100) can take.
const MAX_DEPTH = 64;

/** Bodies are JSON in UTF-8 and nothing else; none at all is fine where the route's schema says so. */
export function parseJson(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const coding = request.headers['content-encoding'] ?? 'identity';
    if (coding !== 'identity') done(new ProtocolError(415, 'Send the body as it is, without a Content-Encoding.'));
    else if (body.length === 0) done(null, undefined);
    // Decoded as it is, each wrong byte would become a U+FFFD that nobody sent.
    else if (!isUtf8(body)) done(new ProtocolError(400, 'The body is not UTF-8.'));
    else void parse(request, body.toString(), done);
  });
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(new ProtocolError(415, 'Send the body with "Content-Type: application/json".'));
  });
  app.addHook('preValidation', async ({ body }) => {
    if (isDeeperThan(body, MAX_DEPTH)) {
      throw new AppError('invalid_request', `The body is nested deeper than ${MAX_DEPTH} levels.`);
    }
  });
}

/** Whether a value has more than `levels` levels of arrays and objects. Goes no deeper than that itself. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}
