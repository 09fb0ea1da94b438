/** Whether a suite has to be left out for want of a server: says so, or throws where REQUIRE_BACKENDS is 1. */
export function isSkipped(suite: string, missing: string | null): boolean {
  if (missing === null) return false;
  if (process.env.REQUIRE_BACKENDS === '1') throw new Error(`${suite}: ${missing}`);
  process.stderr.write(`\n*** SKIPPED *** ${suite}: ${missing}.\n\n`);
  return true;
}
