import { describe, expect, test } from 'vitest';
import type { MessageView, SessionView, TurnView } from './api.ts';
import { checkInvariants, type Evidence } from './check-invariants.ts';
import type { StreamEvent } from './event-stream.ts';

// A check that finds nothing has to be able to find something: one evidence of a turn that went well, and what each
// kind of fault makes of it.

const AT = '2026-01-01T00:00:00.000Z';

interface Story {
  readonly session: SessionView;
  readonly turn: TurnView;
  readonly messages: MessageView[];
  readonly log: StreamEvent[];
  /** What a follower has; by default the log. */
  readonly followed: StreamEvent[] | null;
  readonly announcements: StreamEvent[];
  readonly violations: string[];
  readonly runs: Evidence['toolRuns'][number][];
}

function goodStory(): Story {
  const message = (seq: number, role: MessageView['role'], content: string, more: Partial<MessageView> = {}) => ({
    id: `msg_${seq}`,
    sessionId: 'ses_1',
    turnId: 'turn_1',
    seq,
    role,
    content,
    createdAt: AT,
    ...more,
  });
  const types: [string, object][] = [
    ['turn.started', { attempt: 1 }],
    ['turn.delta', { step: 1, text: 'lost' }],
    ['turn.reset', { step: 1 }],
    ['turn.delta', { step: 1, text: 'Let me ' }],
    ['turn.delta', { step: 1, text: 'see. ' }],
    ['tool.call', { step: 1, toolCallId: 'call_1', name: 'look' }],
    ['tool.result', { toolCallId: 'call_1', ok: true, result: '{"key":"key_1"}' }],
    ['turn.delta', { step: 2, text: 'Seen.' }],
    ['done', { message: null }],
  ];
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  return {
    session: {
      id: 'ses_1',
      tenantId: 'default',
      userId: 'ada',
      agentId: 'agent',
      state: 'IDLE',
      turnCount: 1,
      activeTurnId: null,
      interrupt: null,
      metadata: {},
      createdAt: AT,
      updatedAt: AT,
    },
    turn: {
      id: 'turn_1',
      sessionId: 'ses_1',
      number: 1,
      status: 'COMPLETED',
      text: 'Look.',
      attempt: 1,
      steps: 2,
      usage,
      error: null,
      createdAt: AT,
      startedAt: AT,
      finishedAt: AT,
    },
    messages: [
      message(1, 'user', 'Look.'),
      message(2, 'assistant', 'Let me see. ', { toolCalls: [{ id: 'call_1', name: 'look', arguments: {} }] }),
      message(3, 'tool', '{"key":"key_1"}', { toolCallId: 'call_1' }),
      message(4, 'assistant', 'Seen.'),
    ],
    log: types.map(([type, data], i) => ({
      id: i + 1,
      type,
      data: { turnId: 'turn_1', ts: 1000 + i, prev: i, ...data },
      at: 0,
    })),
    followed: null,
    announcements: [],
    violations: [],
    runs: [{ tool: 'look', turnId: 'turn_1', idempotencyKey: 'key_1', startedAt: 1005 }],
  };
}

function evidenceOf(story: Story): Evidence {
  const { session, turn, messages, log, violations, runs, announcements } = story;
  const followed = story.followed ?? log;
  return {
    turnwire: {
      api: {
        session: async () => session,
        turn: async () => turn,
        settled: async () => turn,
        messages: async () => messages,
      },
      accepted: { sessions: new Set(['ses_1']), turns: new Map([['turn_1', 'ses_1']]) },
      streams: [],
      followers: [{ sessionId: 'ses_1', events: followed, announcements, lastEventId: followed.at(-1)?.id ?? 0 }],
      stream: async () => ({ events: log, close: () => undefined, until: async () => log[0] as StreamEvent }),
    },
    requests: [{ model: 'm', attempt: 1, violations }],
    toolRuns: runs,
    idempotentTools: new Set(['look again']),
  };
}

/** What is found when this is otherwise. */
async function faultsOf(change: (story: Story) => Partial<Story>): Promise<string> {
  const story = goodStory();
  return (await checkInvariants(evidenceOf({ ...story, ...change(story) }))).join('\n');
}

const without = (log: readonly StreamEvent[], n: number) => log.filter(({ id }) => id !== n);

describe('the invariants', () => {
  test('hold of what went well', async () => {
    expect(await faultsOf(() => ({}))).toBe('');
  });

  test('hold where a client was shown more than a dead holder kept, and it was taken back', async () => {
    const extra = { id: 2.5, type: 'turn.delta', data: { turnId: 'turn_1', prev: 2, step: 1, text: ' more' }, at: 0 };
    expect(await faultsOf(({ log }) => ({ followed: log.toSpliced(2, 0, extra) }))).toBe('');
  });

  test.each<[string, (story: Story) => Partial<Story>, RegExp]>([
    ['a conversation that is not valid', () => ({ violations: ['unanswered call'] }), /unanswered call/],
    [
      'a turn that stays',
      (story) => ({
        ...story,
        turn: { ...story.turn, status: 'RUNNING', finishedAt: null },
        log: story.log.slice(0, -1),
      }),
      /^turn turn_1 stays RUNNING/m,
    ],
    [
      'a turn that stays in line although nothing waits',
      (story) => ({ turn: { ...story.turn, status: 'QUEUED', finishedAt: null }, log: [] }),
      /stays QUEUED/,
    ],
    ['a session that is stuck', (story) => ({ session: { ...story.session, state: 'RUNNING' } }), /ses_1 is stuck/],
    [
      'two terminal events',
      ({ log }) => ({ log: [...log, { ...(log[8] as StreamEvent), id: 10, data: { turnId: 'turn_1', prev: 9 } }] }),
      /told to end as "done,done"/,
    ],
    ['no terminal event', ({ log }) => ({ log: log.slice(0, -1) }), /told to end as ""/],
    [
      'another end than the stored one',
      (story) => ({ turn: { ...story.turn, status: 'CANCELLED' } }),
      /is CANCELLED and was told to end as "done"/,
    ],
    ['text that was lost', (story) => ({ log: relinked(without(story.log, 5)) }), /the log keeps \["Let me "/],
    ['text that was not taken back', (story) => ({ log: relinked(without(story.log, 3)) }), /keeps \["lostLet me see/],
    [
      'text that came twice',
      (story) => ({ log: relinked(story.log.toSpliced(4, 0, story.log[3] as StreamEvent)) }),
      /keeps \["Let me Let me/,
    ],
    ['a hole in the log', (story) => ({ log: without(story.log, 1) }), /event 2 \(turn.delta\) follows 1, not 0/],
    ['an order that is none', (story) => ({ log: story.log.toReversed() }), /event 8 after 9/],
    [
      'an event that the client never got',
      (story) => ({ followed: without(story.log, 1) }),
      /never got turn.started 1/,
    ],
    [
      'an event that the client got twice',
      (story) => ({ followed: story.log.toSpliced(1, 0, story.log[0] as StreamEvent) }),
      /the client got 1 after 1/,
    ],
    [
      'a stored event that the log has lost',
      (story) => ({ followed: story.log, log: without(story.log, 7) }),
      /the client has tool.result 7, the log has not/,
    ],
    [
      'a gap',
      () => ({ announcements: [{ id: null, type: 'gap', data: { from: 1, to: 3 }, at: 0 }] }),
      /told of a gap from 1 to 3/,
    ],
    [
      'an event with two contents',
      (story) => ({
        ...story,
        followed: story.log.with(0, { ...(story.log[0] as StreamEvent), type: 'step.started' }),
      }),
      /event 1 has two contents/,
    ],
    [
      'a call without an answer',
      ({ messages }) => ({ messages: messages.toSpliced(2, 1) }),
      /before answers to call_1/,
    ],
    ['an answer without a call', ({ messages }) => ({ messages: messages.toSpliced(1, 1) }), /answers no open call/],
    [
      'messages out of order',
      (story) => ({ messages: story.messages.with(3, { ...(story.messages[3] as MessageView), seq: 1 }) }),
      /seq 1 after 3/,
    ],
    ['a tool that ran twice', ({ runs }) => ({ runs: [...runs, ...runs] }), /look: call key_1 ran 2 times/],
    [
      'an idempotent tool that ran again after its result was stored',
      (story) => {
        const run = { ...(story.runs[0] as Story['runs'][number]), tool: 'look again' };
        return { runs: [run, { ...run, startedAt: 2000 }] };
      },
      /look again: call key_1 ran again after its result was stored/,
    ],
  ])('tell of %s', async (_name, change, fault) => {
    expect(await faultsOf(change)).toMatch(fault);
  });
});

/** The events with ids and `prev` as if there had never been others. */
function relinked(log: readonly StreamEvent[]): StreamEvent[] {
  return log.map((event, i) => ({ ...event, id: i + 1, data: { ...event.data, prev: i } }));
}
