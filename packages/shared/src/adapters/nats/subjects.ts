import { createHash } from 'node:crypto';
import type { SessionKey } from '../../domain/tenant.ts';

/** The subjects of one session. */
export interface SessionSubjects {
  /** Stored: the session's events. Nobody subscribes to it: it also carries what the stream then refuses. */
  readonly log: string;
  /** Stored: data of events that are too large for a message of the log. */
  readonly large: string;
  /** What subscribers are to hear: {@link LIVE_EVENTS}, which only the stream sends, and {@link ANNOUNCEMENT}. */
  readonly heard: string;
  readonly announcement: string;
  readonly nudge: string;
}

/** The last token of a `heard` subject: what has been stored, in the order of the stream. */
export const LIVE_EVENTS = 'events';
const ANNOUNCEMENT = 'announcement';

export function sessionSubjects(prefix: string, { tenantId, sessionId }: SessionKey): SessionSubjects {
  const session = `${subjectToken(tenantId)}.${subjectToken(sessionId)}`;
  return {
    log: `${prefix}.log.${session}`,
    large: `${prefix}.large.${session}`,
    heard: `${prefix}.heard.${session}.*`,
    announcement: `${prefix}.heard.${session}.${ANNOUNCEMENT}`,
    nudge: `${prefix}.nudge.${session}`,
  };
}

/** What the stream stores, and how it says on again what it has stored. */
export function streamSubjects(prefix: string) {
  return {
    stored: [`${prefix}.log.*.*`, `${prefix}.large.*.*`],
    republish: {
      src: `${prefix}.log.*.*`,
      dest: `${prefix}.heard.{{wildcard(1)}}.{{wildcard(2)}}.${LIVE_EVENTS}`,
    },
  };
}

const PLAIN = /^[A-Za-z0-9_-]{1,80}$/;
const MAX_ENCODED = 120;

/**
 * An id as one token of a subject, so that none of `.`, `*`, `>` and space gets into it. Different ids have different
 * tokens: the first character tells a plain one from an encoded (`=`) and a hashed (`~`) one.
 */
export function subjectToken(id: string): string {
  if (PLAIN.test(id)) return id;
  const encoded = `=${Buffer.from(id, 'utf16le').toString('base64url')}`; // lone surrogates stay different
  return encoded.length <= MAX_ENCODED ? encoded : `~${createHash('sha256').update(id, 'utf16le').digest('base64url')}`;
}
