import { validateConversation } from '@turnwire/demo-model/validate-conversation';
import type { Message, RequestedCall } from '@turnwire/shared/domain/message';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toChatMessages } from '../testing/chat-messages.ts';
import { repairHistory } from './repair-history.ts';

type Said = Pick<Message, 'role' | 'content'> & Partial<Pick<Message, 'toolCalls' | 'toolCallId'>>;

const requested = (id: string): RequestedCall => ({ id, name: 'look', arguments: {} });
const user = (content: string): Said => ({ role: 'user', content });
const answer = (content: string): Said => ({ role: 'assistant', content });
const asks = (...ids: readonly string[]): Said => ({ role: 'assistant', content: '', toolCalls: ids.map(requested) });
const result = (toolCallId: string, content = `result of ${toolCallId}`): Said => ({
  role: 'tool',
  content,
  toolCallId,
});

function stored(said: readonly Said[]): readonly Message[] {
  return said.map((each, i) => ({ ...each, id: `msg_${i}`, sessionId: 's', turnId: 't', seq: i + 1, createdAt: 0 }));
}

/** A repaired conversation in short: `role` or `role id`. */
function outline(said: readonly Said[]): readonly string[] {
  return repairHistory(stored(said)).map((message) => {
    if (message.role === 'tool') return `${message.toolCallId}: ${message.content}`;
    if (message.role === 'assistant') return `assistant ${message.toolCalls.map(({ id }) => id).join(' ')}`.trim();
    return message.role;
  });
}

const NO_RESULT = 'No result of this call was recorded; whether it took effect is unknown.';

describe('a history', () => {
  test.each<[string, readonly Said[], readonly string[]]>([
    ['that is empty', [], []],
    ['without a user', [answer('Hi'), asks('a'), result('a')], []],
    [
      'that begins in the middle of a turn',
      [result('z'), answer('Hi'), user('And?'), answer('So.')],
      ['user', 'assistant'],
    ],
    [
      'with a call that has no result',
      [user('Go'), asks('a', 'b'), result('b')],
      ['user', 'assistant a b', `a: ${NO_RESULT}`, 'b: result of b'],
    ],
    [
      'with results in another order than the calls',
      [user('Go'), asks('a', 'b'), result('b'), result('a')],
      ['user', 'assistant a b', 'a: result of a', 'b: result of b'],
    ],
    [
      'with a result behind the next text',
      [user('Go'), asks('a'), user('Well?'), result('a'), answer('So.')],
      ['user', 'assistant a', 'a: result of a', 'user', 'assistant'],
    ],
    ['with a result of no call', [user('Go'), result('x'), answer('So.')], ['user', 'assistant']],
    [
      'with two results of one call',
      [user('Go'), asks('a'), result('a', 'first'), result('a', 'second')],
      ['user', 'assistant a', 'a: first'],
    ],
    [
      'with one id used twice',
      [user('Go'), asks('a'), result('a', '1'), asks('a'), result('a', '2'), answer('So.')],
      ['user', 'assistant a', 'a: 1', 'assistant'],
    ],
    ['with an empty answer', [user('Go'), answer('  '), user('Well?')], ['user', 'user']],
    ['with an empty result', [user('Go'), asks('a'), result('a', '')], ['user', 'assistant a', 'a: (no output)']],
  ])('%s is repaired', (_, said, expected) => {
    expect(outline(said)).toEqual(expected);
  });

  /** Turns of a user's text, some steps with calls, and an answer; the last one is still under way. */
  const turns = fc.array(
    fc.record({ steps: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }), answered: fc.boolean() }),
    { minLength: 1, maxLength: 4 },
  );

  function wholeHistory(shape: readonly { steps: readonly number[]; answered: boolean }[]): readonly Said[] {
    return shape.flatMap(({ steps, answered }, t) => [
      user(`text ${t}`),
      ...steps.flatMap((calls, s) => {
        const ids = Array.from({ length: calls }, (_, position) => `call_${t}_${s}_${position}`);
        return [asks(...ids), ...ids.map((id) => result(id))];
      }),
      ...(answered ? [answer(`answer ${t}`)] : []),
    ]);
  }

  test('that is whole comes out as it is', () => {
    fc.assert(
      fc.property(turns, (shape) => {
        const whole = wholeHistory(shape);
        const said = repairHistory(stored(whole)).map((message) => {
          if (message.role !== 'assistant') return message;
          const { toolCalls, ...rest } = message;
          return toolCalls.length === 0 ? rest : message;
        });
        expect(said).toEqual(whole);
      }),
    );
  });

  test('that is mutilated anyhow is still one that a strict provider takes', () => {
    const cut = fc.constantFrom('drop', 'duplicate', 'move', 'truncate', 'blank');
    const mutilations = fc.array(fc.record({ cut, at: fc.nat(30), to: fc.nat(30) }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(turns, mutilations, (shape, list) => {
        const said = [...wholeHistory(shape)];
        for (const { cut: kind, at, to } of list) mutilate(said, kind, at, to);
        // What a model is sent ends with what the turn was asked.
        const repaired = repairHistory(stored([...said, user('And now?')]));
        expect(validateConversation(toChatMessages(repaired))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  function mutilate(said: Said[], kind: string, at: number, to: number): void {
    const index = at % Math.max(1, said.length);
    const picked = said[index];
    if (picked === undefined) return;
    if (kind === 'drop') said.splice(index, 1);
    if (kind === 'duplicate') said.splice(to % said.length, 0, picked);
    if (kind === 'move') said.splice(to % said.length, 0, ...said.splice(index, 1));
    if (kind === 'truncate') said.splice(0, index);
    if (kind === 'blank' && picked.role !== 'user') said[index] = { ...picked, content: '' };
  }
});
