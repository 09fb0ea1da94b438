import { z } from 'zod';

/** The body of every refused call: RFC 9457, `application/problem+json`. Facts about the case may be added to it. */
export const problemSchema = z
  .looseObject({
    type: z.string().describe('`urn:turnwire:problem:<code>`'),
    title: z.string().describe('The same for every problem of this code'),
    status: z.int(),
    detail: z.string().describe('What is wrong here, in one sentence'),
    instance: z.string().optional().describe('The path that was called'),
    code: z.string().describe('Stable: made for programs'),
    errors: z
      .array(z.strictObject({ path: z.string().describe('Such as `model.temperature`'), message: z.string() }))
      .optional()
      .describe('The fields that are wrong'),
  })
  .meta({ id: 'Problem' });
