/** A lease and a sweep that can be waited for. What is not about them runs with those of production. */
export const SHORT_TIMES = { LEASE_MS: '1500', SWEEP_MS: '250', DRAIN_MS: '1000' } as const;
