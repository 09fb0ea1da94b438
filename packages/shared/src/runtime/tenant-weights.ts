const PAIR = /^\s*([\w.@-]{1,100})=(\d{1,4}(?:\.\d{1,4})?)\s*$/;

/** Reads `TENANT_WEIGHTS`: pairs such as `acme=3,other=0.5`. */
export function parseTenantWeights(value: string): {
  readonly weights: ReadonlyMap<string, number>;
  readonly problem: string | null;
} {
  const weights = new Map<string, number>();
  for (const pair of value.split(',')) {
    const [, tenantId = '', weight = ''] = pair.match(PAIR) ?? [];
    if (Number(weight) === 0 || weights.has(tenantId)) {
      const problem =
        'must look like acme=3,other=0.5: each tenant once, with a number greater than 0 and below 10,000';
      return { weights: new Map(), problem };
    }
    weights.set(tenantId, Number(weight));
  }
  return { weights, problem: null };
}
