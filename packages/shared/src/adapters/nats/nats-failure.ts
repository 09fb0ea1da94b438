import { type AppError, isAppError, unavailable } from '../../domain/errors.ts';

/** What goes wrong between this process and the server passes: the caller may try again. */
export function busUnavailable(cause: unknown): AppError {
  return isAppError(cause) ? cause : unavailable('The event bus', cause);
}

export async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw busUnavailable(error);
  }
}
