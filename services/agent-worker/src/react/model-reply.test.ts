import type { PlannedCall } from '@turnwire/shared/domain/decide-progress';
import { NO_USAGE } from '@turnwire/shared/domain/usage';
import { expect, test } from 'vitest';
import { classifyReply } from './model-reply.ts';

const CALL: PlannedCall = { id: 'a', name: 'f', arguments: {}, invalid: null };

test.each([
  // finish reason, text, calls → what it leads to
  ['stop', 'Yes.', [], 'final'],
  ['stop', '', [], 'empty'],
  ['stop', ' \n', [], 'empty'],
  ['tool_calls', '', [CALL], 'tool_calls'],
  ['tool_calls', 'Wait.', [CALL], 'tool_calls'],
  ['stop', '', [CALL], 'tool_calls'],
  ['function_call', '', [CALL], 'tool_calls'],
  ['tool_calls', 'Yes.', [], 'final'],
  ['tool_calls', '', [], 'empty'],
  ['length', 'Once upon', [], 'truncated'],
  ['length', 'Once upon', [CALL], 'truncated'],
  ['length', '', [CALL], 'cut_off'],
  ['length', '', [], 'cut_off'],
  ['content_filter', 'Yes.', [], 'final'],
] as const)('%s with text %j and calls %j is %s', (finishReason, text, calls, kind) => {
  const raw = { text, calls: [], usage: NO_USAGE, finishReason, failure: null, shown: text !== '' };
  expect(classifyReply(raw, calls).kind).toBe(kind);
});
