import { z } from 'zod';

const EVENTS = `Server-sent events. Each has \`event:\` (its type) and one \`data:\` line of JSON with at least \`turnId\` and \`ts\`; durable
ones have a growing \`id:\` to resume from. Types: \`turn.queued {position}\` (no id), \`turn.started {attempt}\`,
\`step.started {step}\`, \`turn.delta {step, text}\`, \`reasoning.delta {step, text}\`,
\`tool.call {step, toolCallId, name, arguments}\`, \`tool.result {toolCallId, name, ok, result, durationMs, truncated?}\`,
\`interrupt {interruptId, reason, beforeNodes, toolCalls, expiresAt}\`, \`turn.resumed {decisions}\`,
\`turn.reset {step}\` (drop the text that came for this step), \`done {message, usage}\`, \`error {code, message}\`,
\`cancelled {reason}\`, and \`gap {from, to}\` (no id: events between are no longer in the log; read the messages).`;

/** A response that is an event stream, for the API description. */
export function eventStreamSchema(description: string) {
  return { description, content: { 'text/event-stream': { schema: z.string().describe(EVENTS) } } };
}
