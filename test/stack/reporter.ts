import { writeSync } from 'node:fs';
import { DefaultReporter, type TestModule, type Vitest } from 'vitest/node';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Vitest's own report, closed by `N passed, N failed, N skipped` as the very last line. Everything that makes a run fail
 * counts as failed: tests, a file that cannot be loaded, a hook of a suite, an unhandled error.
 */
export class ClosingLineReporter extends DefaultReporter {
  // What is said if the process ends before the run does.
  #counts: Counts = { passed: 0, failed: 1, skipped: 0 };

  override onInit(vitest: Vitest): void {
    super.onInit(vitest);
    // At the exit, since Vitest may still warn about open handles after the run.
    process.once('exit', () => writeSync(1, `${closingLine(this.#counts)}\n`));
  }

  override onTestRunEnd(...run: Parameters<DefaultReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(...run);
    const [modules, unhandledErrors] = run;
    this.#counts = countResults(modules);
    this.#counts.failed += unhandledErrors.length;
  }
}

function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

function countResults(modules: readonly TestModule[]): Counts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const module of modules) {
    for (const suite of [module, ...module.children.allSuites()]) {
      if (suite.errors().length > 0) counts.failed += 1;
    }
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      counts[state === 'pending' ? 'failed' : state] += 1; // pending: the run was broken off
    }
  }
  return counts;
}
