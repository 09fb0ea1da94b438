import { MASK, unmasked } from '@turnwire/shared/contracts/http-secrets';
import { AppError } from '@turnwire/shared/domain/errors';

type Values = Readonly<Record<string, string>>;

/** Values to store: where a client sends back the mask that it was shown, what is stored already. */
export function keepSecrets(field: string, values: Values, stored: Values): Values {
  const result = unmasked(values, stored);
  if ('values' in result) return result.values;
  const path = `${field}.${result.unknown}`;
  const message = `${JSON.stringify(MASK)} stands for a stored value, and there is none`;
  throw new AppError('invalid_request', `${path}: ${message}`, { details: { errors: [{ path, message }] } });
}
