import type { Clock } from '@turnwire/shared/ports/clock';
import type { Tool } from '@turnwire/shared/ports/tool';
import type { ComputeThread } from './compute-thread.ts';
import { withDeadline } from './deadline.ts';
import { decodeText, isText, parseContentType } from './decode-text.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { type ReadBody, readBody } from './read-body.ts';
import { stringArgument } from './string-argument.ts';
import { ToolError } from './tool-error.ts';

const LIMIT_MS = 20_000;
const MAX_BYTES = 1_000_000;
const MAX_CHARS = 20_000;

const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;

const definition = {
  name: 'fetch_url',
  description: 'Fetches a public web page and answers its text.',
  parameters: {
    type: 'object',
    properties: { url: { type: 'string', description: 'An http or https URL.' } },
    required: ['url'],
    additionalProperties: false,
  },
};

export interface FetchUrlDependencies {
  readonly fetch: GuardedFetch['fetch'];
  readonly clock: Clock;
  /** Turns HTML into text. */
  readonly htmlText: ComputeThread['run'];
}

export function createFetchUrlTool({ fetch, clock, htmlText }: FetchUrlDependencies): Tool {
  return {
    definition,
    idempotent: true,
    timeoutMs: null,
    run(args, { signal }) {
      const url = stringArgument(args, 'url');
      const message = `The page was not there within ${LIMIT_MS / 1000} seconds.`;
      return withDeadline({ clock, signal, limitMs: LIMIT_MS, message }, async (limited) => {
        const page = await readPage(fetch, url, limited);
        return describe(page, page.isHtml ? await htmlText(page.text, limited) : page.text);
      });
    },
  };
}

interface Page extends Pick<ReadBody, 'cut'> {
  readonly url: string;
  readonly text: string;
  readonly isHtml: boolean;
}

async function readPage(fetch: GuardedFetch['fetch'], from: string, signal: AbortSignal): Promise<Page> {
  const accept = 'text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1';
  const response = await fetch(from, { headers: { accept }, signal });
  const { ok, status, statusText, url, headers } = response;
  const { type, charset } = parseContentType(headers.get('content-type'));
  if (!ok) {
    await response.body?.cancel();
    throw new ToolError(`The server answered ${`${status} ${statusText}`.trim()}.`);
  }
  const { bytes, cut } = await readBody(response, MAX_BYTES, signal);
  if (!isText(type, bytes)) throw new ToolError(`The URL leads to ${type || 'binary data'}, which is not text.`);
  return { url, cut, text: decodeText(bytes, charset), isHtml: HTML.test(type) };
}

/** The URL that answered, in case redirects led elsewhere, the text, and whether that is all. */
function describe({ url, cut }: Page, text: string): string {
  if (text.trim() === '') return `${url}\n\n(The page has no text.)`;
  const shown = text.slice(0, MAX_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  const whole = shown.length === text.length && !cut;
  const of = cut ? `more than ${text.length}` : text.length;
  return `${url}\n\n${shown}${whole ? '' : `\n\n[Cut: the first ${shown.length} of ${of} characters.]`}`;
}
