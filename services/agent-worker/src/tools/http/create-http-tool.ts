import type { HttpTool } from '@turnwire/shared/domain/registration';
import type { Tool } from '@turnwire/shared/ports/tool';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { readBody } from '../read-body.ts';
import { ToolError } from '../tool-error.ts';
import { buildRequest } from './build-request.ts';
import { failureOf, resultOf } from './describe-answer.ts';

const MAX_RESULT_BYTES = 1_000_000;
const MAX_ERROR_BYTES = 20_000;

/** A registered HTTP endpoint as a tool: the body of a 2xx answer is the result. */
export function createHttpTool(tool: HttpTool, fetch: GuardedFetch['fetch']): Tool {
  const { name, description, parameters, idempotent, timeoutMs } = tool;
  return {
    definition: { name, description, parameters },
    idempotent,
    timeoutMs,
    async run(args, context) {
      const { url, init } = buildRequest(tool, args, context);
      const response = await fetch(url, init);
      const maxBytes = response.ok ? MAX_RESULT_BYTES : MAX_ERROR_BYTES;
      const body = await readBody(response, maxBytes, context.signal);
      if (!response.ok) throw new ToolError(failureOf(tool, response, body));
      return resultOf(response, body);
    },
  };
}
