import { defineConfig } from 'vitest/config';
import { ClosingLineReporter } from './test/stack/reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'packages/*/src/**/*.test.ts', 'services/*/src/**/*.test.ts'],
    reporters: [new ClosingLineReporter()],
    pool: 'forks',
    maxWorkers: 2, // the tests start servers of their own, which need the processor too
    testTimeout: 60_000,
    hookTimeout: 60_000,
    experimental: { viteModuleRunner: false }, // Node runs the sources as they are, as in production
  },
});
