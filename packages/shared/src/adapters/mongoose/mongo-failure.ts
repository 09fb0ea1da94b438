import { mongo } from 'mongoose';
import { isAppError, unavailable } from '../../domain/errors.ts';
import { Conflict } from './retry.ts';

// https://www.mongodb.com/docs/manual/reference/error-codes: a wrong command or value, which no retry and no operator can mend.
const OUR_MISTAKES = new Set<number | string | undefined>([
  2, // BadValue
  9, // FailedToParse
  14, // TypeMismatch
  28, // PathNotViable
  40, // ConflictingUpdateOperators
  52, // DollarPrefixedFieldName
  66, // ImmutableField
  72, // InvalidOptions
  121, // DocumentValidationFailure
  10334, // BSONObjectTooLarge
  11_000, // DuplicateKey
]);

/** Servers that are away, silent, full or in the middle of an election: the store is `unavailable`. Anything else stays as it is. */
export function mongoFailure(error: unknown): unknown {
  if (isAppError(error)) return error;
  if (error instanceof Conflict) return unavailable('The store', error);
  if (error instanceof mongo.MongoServerError) {
    return OUR_MISTAKES.has(error.code) ? error : unavailable('The store', error);
  }
  const isDriver = error instanceof mongo.MongoError && !(error instanceof mongo.MongoInvalidArgumentError);
  return isDriver || isSocketFailure(error) ? unavailable('The store', error) : error;
}

/** Such as EPIPE. The driver lets it pass as it is when it comes while a command waits to be written. */
function isSocketFailure(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return typeof error.code === 'string' && /^(E[A-Z]+|ERR_(STREAM|SOCKET)_\w+)$/.test(error.code);
}
