import { AppError } from '@turnwire/shared/domain/errors';

/** A body may repeat what its path says, and must not say anything else. */
export function checkPathId(id: string, body: Readonly<Record<string, string | undefined>>): void {
  for (const [path, value] of Object.entries(body)) {
    if (value === undefined || value === id) continue;
    const message = `must be ${JSON.stringify(id)}, as in the path`;
    throw new AppError('invalid_request', `${path}: ${message}`, { details: { errors: [{ path, message }] } });
  }
}
