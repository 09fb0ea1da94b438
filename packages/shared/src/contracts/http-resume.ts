import { z } from 'zod';
import type { SettleInterrupt } from '../domain/decide-settle.ts';
import type { Decision } from '../domain/interrupt.ts';
import { jsonObject, jsonSchema, text } from './http-json.ts';

// A person may say why in any case; the model reads it where a call is rejected.
const reason = text(0, 10_000).optional();

const decisionSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('approve'), reason }),
  z.strictObject({ action: z.literal('reject'), reason }),
  z.strictObject({ action: z.literal('edit'), arguments: jsonObject(500_000), reason }),
  z.strictObject({ action: z.literal('respond'), result: jsonSchema, reason }),
]);

type DecisionInput = z.infer<typeof decisionSchema>;

const PER_CALL = '"edit" and "respond" are about one call each: give them in "decisions".';

/** The body of `POST /v1/sessions/{id}/resume`. None, or an empty one, approves every open call. */
export const resumeSchema = z
  .strictObject({
    interruptId: z.string().min(1).max(200).optional(),
    action: z
      .enum(['approve', 'reject', 'edit', 'respond'])
      .refine((action) => action === 'approve' || action === 'reject', PER_CALL)
      .optional()
      .describe('For every call that `decisions` does not name: `approve` or `reject`'),
    reason: reason.describe('Goes with `action`; the model reads it where calls are rejected'),
    decisions: z
      .record(z.string().max(200), decisionSchema)
      .refine((decisions) => Object.keys(decisions).length <= 500, 'must be at most 500')
      .optional()
      .describe('By the id of the tool call. Calls that are not decided keep the session waiting'),
    text: text(1, 200_000).optional().describe('Guidance for the model, where a pause is resumed'),
  })
  .superRefine(({ action, reason: why, decisions, text: guidance }, context) => {
    // By itself it would approve, which whoever gives a reason hardly means.
    if (why !== undefined && action === undefined) {
      context.addIssue({ code: 'custom', path: ['reason'], message: '"reason" goes with "action".' });
    }
    if (guidance === undefined || (action === undefined && decisions === undefined)) return;
    const message = '"text" resumes a pause and goes with neither "action" nor "decisions".';
    context.addIssue({ code: 'custom', path: ['text'], message });
  })
  .nullish();

/** The command that a body stands for. */
export function settleCommand(body: z.infer<typeof resumeSchema>): SettleInterrupt {
  const { interruptId, action, reason: why, decisions, text: guidance } = body ?? {};
  return {
    interruptId: interruptId ?? null,
    decisions: Object.fromEntries(Object.entries(decisions ?? {}).map(([id, input]) => [id, decisionOf(input)])),
    others: othersOf(action, why, decisions !== undefined || guidance !== undefined),
    text: guidance ?? null,
  };
}

/** An empty `decisions` decides nothing; only a body that says nothing at all approves. */
function othersOf(action: string | undefined, why: string | undefined, says: boolean): Decision | null {
  if (action === 'reject') return decisionOf({ action, reason: why });
  return action === 'approve' || !says ? { action: 'approve' } : null;
}

function decisionOf(input: DecisionInput): Decision {
  switch (input.action) {
    case 'approve':
      return { action: 'approve' };
    case 'reject':
      return input.reason === undefined || input.reason === ''
        ? { action: 'reject' }
        : { action: 'reject', reason: input.reason };
    case 'edit':
      return { action: 'edit', arguments: input.arguments };
    case 'respond':
      return { action: 'respond', result: input.result };
  }
}
