import { FAILURE_CODES, type FailureCode, isAppError } from '@turnwire/shared/domain/errors';
import type { TurnError } from '@turnwire/shared/domain/turn';

/**
 * How a turn fails for an error that came up while it ran. Null where the error is none of the turn's: a server is
 * away or the lease is lost, and the turn goes on elsewhere or later.
 */
export function toTurnError(error: unknown): TurnError | null {
  if (isAppError(error)) {
    const code = FAILURE_CODES.find((candidate) => candidate === error.code);
    if (code !== undefined) return { code: code satisfies FailureCode, message: error.message };
    if (error.code === 'unavailable' || error.code === 'lease_lost') return null;
  }
  return { code: 'internal', message: 'Something went wrong inside the server; its log has the details.' };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
