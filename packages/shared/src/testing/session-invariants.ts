import type { Message } from '../domain/message.ts';
import type { Session } from '../domain/session.ts';
import type { ToolCall } from '../domain/tool-call.ts';
import { isTerminalStatus, type Turn } from '../domain/turn.ts';

/** All that is stored of one session. */
export interface SessionSnapshot {
  readonly session: Session;
  /** By number. */
  readonly turns: readonly Turn[];
  /** By `seq`. */
  readonly messages: readonly Message[];
  readonly toolCalls: readonly ToolCall[];
}

/** What must hold after every write. Answers what does not, in words. */
export function sessionViolations(snapshot: SessionSnapshot): readonly string[] {
  return [
    ...turnViolations(snapshot),
    ...stateViolations(snapshot),
    ...eventViolations(snapshot),
    ...historyViolations(snapshot),
    ...dueViolations(snapshot),
  ];
}

/** What must hold between two looks at the same session. */
export function progressViolations(before: SessionSnapshot, after: SessionSnapshot): readonly string[] {
  const found: string[] = [];
  const grows = (name: string, a: number, b: number) => {
    if (b < a) found.push(`${name} went back from ${a} to ${b}`);
  };
  grows('token', before.session.lease.token, after.session.lease.token);
  grows('lastEventId', before.session.lastEventId, after.session.lastEventId);
  grows('lastSeq', before.session.lastSeq, after.session.lastSeq);
  grows('turnCount', before.session.turnCount, after.session.turnCount);
  for (const turn of before.turns) {
    const later = after.turns.find(({ id }) => id === turn.id);
    if (later === undefined) found.push(`turn ${turn.id} vanished`);
    else if (isTerminalStatus(turn.status) && later.status !== turn.status) {
      found.push(`turn ${turn.id} was ${turn.status} and is ${later.status}`);
    } else grows(`steps of ${turn.id}`, turn.steps, later.steps);
  }
  for (const call of before.toolCalls) {
    const later = after.toolCalls.find(({ id }) => id === call.id);
    if (call.result !== null && later?.result !== call.result) found.push(`the result of ${call.id} changed`);
  }
  return found;
}

function turnViolations({ session, turns }: SessionSnapshot): readonly string[] {
  const found: string[] = [];
  const open = turns.filter(({ status }) => !isTerminalStatus(status));
  const begun = open.filter(({ status }) => status !== 'QUEUED');
  if (begun.length > 1) found.push(`${begun.length} turns run or wait at once`);
  if (begun[0] !== undefined && begun[0] !== open[0]) found.push(`turn ${begun[0].number} runs out of turn`);
  if (session.activeTurnId !== (open[0]?.id ?? null)) found.push(`activeTurnId is ${session.activeTurnId}`);
  if (turns.some(({ number }, i) => number !== i + 1)) found.push('turn numbers have holes or repeat');
  if (session.turnCount !== turns.length) found.push(`turnCount is ${session.turnCount} with ${turns.length} turns`);
  for (const turn of turns) {
    const ended = isTerminalStatus(turn.status);
    if (ended !== (turn.finishedAt !== null))
      found.push(`turn ${turn.number} is ${turn.status} with a wrong finishedAt`);
    if (ended && (turn.status === 'FAILED') !== (turn.error !== null))
      found.push(`turn ${turn.number} has a wrong error`);
  }
  return found;
}

function stateViolations({ session, turns }: SessionSnapshot): readonly string[] {
  const head = turns.find(({ status }) => !isTerminalStatus(status));
  const allowed =
    head === undefined
      ? ['IDLE', 'COMPLETED', 'FAILED', 'CANCELLED']
      : [head.status === 'WAITING' ? 'WAITING' : 'RUNNING'];
  const found = allowed.includes(session.state)
    ? []
    : [`state ${session.state} with a ${head?.status ?? 'missing'} head`];
  if ((session.state === 'WAITING') !== (session.interrupt !== null)) found.push(`interrupt while ${session.state}`);
  if (session.interrupt !== null && session.interrupt.turnId !== head?.id) found.push('interrupt of another turn');
  return found;
}

function eventViolations({ session }: SessionSnapshot): readonly string[] {
  const found: string[] = [];
  let last = 0;
  let numberless = false;
  for (const { id } of session.outbox) {
    if (id === null) {
      numberless = true;
      continue;
    }
    if (numberless) found.push(`outbox entry ${id} after one without an id`);
    if (id <= last) found.push(`outbox id ${id} after ${last}`);
    last = id;
  }
  if (last > session.lastEventId) found.push(`lastEventId ${session.lastEventId} is behind the outbox (${last})`);
  return found;
}

/** Every call answered once, right after its message; only the active turn's last message may have open ones. */
function historyViolations({ session, messages }: SessionSnapshot): readonly string[] {
  const found = messages
    .filter(({ seq }, i) => seq <= (messages[i - 1]?.seq ?? 0))
    .map(({ seq }) => `seq ${seq} does not grow`);
  let open = new Set<string | undefined>();
  let asker: Message | null = null;
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId)) found.push(`seq ${message.seq} answers no open call`);
      continue;
    }
    if (open.size > 0) found.push(`seq ${message.seq} comes before the answers to seq ${asker?.seq}`);
    open = new Set(message.toolCalls?.map(({ id }) => id));
    asker = message;
  }
  const lastSeq = messages.at(-1)?.seq ?? 0;
  if (lastSeq > session.lastSeq) found.push(`lastSeq ${session.lastSeq} is behind the messages`);
  if (open.size > 0 && asker?.turnId !== session.activeTurnId) found.push(`seq ${asker?.seq} has open calls for ever`);
  return found;
}

function dueViolations({ session, turns }: SessionSnapshot): readonly string[] {
  const { lease, outbox, interrupt, dueAt } = session;
  const head = turns.find(({ status }) => !isTerminalStatus(status));
  const needed =
    lease.holder !== null ||
    outbox.length > 0 ||
    (head !== undefined && head.status !== 'WAITING') ||
    interrupt?.expiresAt;
  if (needed && dueAt === null) return ['there is work, and nobody will come for it: dueAt is null'];
  if (lease.holder !== null && dueAt !== null && dueAt > lease.expiresAt) return ['dueAt lies beyond the lease'];
  return [];
}
