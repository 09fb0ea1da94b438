/** What clients read instead of a secret. Sent back in a `PUT`, it keeps the value that is stored. */
export const MASK = '***';

type Values = Readonly<Record<string, string>>;

export function masked(values: Values): Values {
  return Object.fromEntries(Object.keys(values).map((name) => [name, MASK]));
}

/** Puts stored values in the place of masks. Answers the name of a mask that hides nothing, if there is one. */
export function unmasked(values: Values, stored: Values): { readonly values: Values } | { readonly unknown: string } {
  const result: [string, string][] = [];
  for (const [name, value] of Object.entries(values)) {
    const known = Object.hasOwn(stored, name) ? stored[name] : undefined;
    if (value === MASK && known === undefined) return { unknown: name };
    result.push([name, value === MASK ? (known ?? value) : value]);
  }
  return { values: Object.fromEntries(result) };
}
