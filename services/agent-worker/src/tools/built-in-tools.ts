import type { Clock } from '@turnwire/shared/ports/clock';
import type { Tool } from '@turnwire/shared/ports/tool';
import { createCalculatorTool } from './calculator.ts';
import { createComputeThread } from './compute-thread.ts';
import { createCurrentTimeTool } from './current-time.ts';
import { createFetchUrlTool } from './fetch-url.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { createGetWeatherTool } from './weather/get-weather.ts';
import { createOpenMeteo, OPEN_METEO_URLS } from './weather/open-meteo.ts';

export interface BuiltInOptions {
  readonly clock: Clock;
  readonly fetch: GuardedFetch['fetch'];
  readonly recordedWeather: boolean;
}

export interface BuiltInTools {
  readonly tools: readonly Tool[];
  readonly names: ReadonlySet<string>;
  close(): Promise<void>;
}

const CALCULATION_MS = 2_000;
const HTML_MS = 3_000;

/** The tools that every tenant's agents may use without registering anything. */
export function createBuiltInTools({ clock, fetch, recordedWeather }: BuiltInOptions): BuiltInTools {
  const calculator = createComputeThread({
    module: new URL('./calculator-thread.ts', import.meta.url),
    limitMs: CALCULATION_MS,
    clock,
  });
  const htmlText = createComputeThread({
    module: new URL('./html-text-thread.ts', import.meta.url),
    limitMs: HTML_MS,
    clock,
  });
  const tools = [
    createCalculatorTool(calculator.run),
    createCurrentTimeTool(clock),
    createFetchUrlTool({ fetch, clock, htmlText: htmlText.run }),
    createGetWeatherTool({ service: createOpenMeteo(fetch, OPEN_METEO_URLS), clock, recorded: recordedWeather }),
  ];
  return {
    tools,
    names: new Set(tools.map(({ definition }) => definition.name)),
    async close() {
      await Promise.all([calculator.close(), htmlText.close()]);
    },
  };
}
