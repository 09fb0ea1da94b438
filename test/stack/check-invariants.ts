import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedRequest } from '@turnwire/demo-model/recording';
import type { Accepted, Api, MessageView, SessionView, TurnView } from './api.ts';
import { type EventStream, keptTexts, type StreamEvent } from './event-stream.ts';
import type { Follower } from './follower.ts';
import { followerFaults, logFaults, streamFaults } from './stream-faults.ts';
import type { ToolRun } from './tool-server.ts';

/** What a client did and was told. */
export interface ClientEvidence {
  readonly api: Pick<Api, 'session' | 'turn' | 'settled' | 'messages'>;
  readonly accepted: Accepted;
  readonly streams: readonly Pick<EventStream, 'path' | 'events' | 'ids' | 'types'>[];
  readonly followers: readonly Pick<Follower, 'sessionId' | 'events' | 'announcements' | 'lastEventId'>[];
  stream(path: string): Promise<Pick<EventStream, 'events' | 'until' | 'close'>>;
}

/** All that was seen from outside. */
export interface Evidence {
  readonly turnwire: ClientEvidence;
  readonly requests: readonly Pick<RecordedRequest, 'model' | 'attempt' | 'violations'>[];
  readonly toolRuns: readonly Pick<ToolRun, 'tool' | 'turnId' | 'idempotencyKey' | 'startedAt'>[];
  /** Registered as `idempotent`: they may run again where a result was lost with its worker. */
  readonly idempotentTools?: ReadonlySet<string>;
  /** Turns that may go on for ever are given this long to end. Default 15 s: the longest that G1 allows. */
  readonly settleMs?: number;
}

interface SessionEvidence {
  readonly session: SessionView;
  readonly turns: readonly TurnView[];
  readonly messages: readonly MessageView[];
  /** The whole log, as a client gets it that comes late. */
  readonly log: readonly StreamEvent[];
}

const TERMINAL: Readonly<Record<string, string>> = { COMPLETED: 'done', FAILED: 'error', CANCELLED: 'cancelled' };

/** What the product promises and did not keep, in words; empty when all is well. Waits until everything has ended. */
export async function checkInvariants(evidence: Evidence): Promise<readonly string[]> {
  const { turnwire, settleMs = 15_000 } = evidence;
  const settled = await Promise.all([...turnwire.accepted.sessions].map((id) => settle(turnwire, id, settleMs)));
  // What clients have by now has to be in the logs, which are read after.
  const followers = turnwire.followers.map(({ sessionId, events, announcements, lastEventId }) => ({
    sessionId,
    events: [...events],
    announcements,
    lastEventId,
  }));
  const sessions = await Promise.all(settled.map((one) => inspect(turnwire, one)));
  return [
    ...evidence.requests.flatMap(conversationFaults),
    ...sessions.flatMap((one) => [...stateFaults(one), ...historyFaults(one)]),
    ...sessions.flatMap((one) => textFaults({ streams: turnwire.streams, followers }, one)),
    ...sessions.flatMap(({ session, log }) => logFaults(session.id, log)),
    ...followers.flatMap((follower) => followerFaults(follower, logOf(sessions, follower.sessionId))),
    ...turnwire.streams.flatMap((stream) => streamFaults(stream, logOf(sessions, stream.path))),
    ...toolFaults(evidence, sessions),
  ];
}

type Settled = Pick<SessionEvidence, 'session' | 'turns'>;

async function settle(turnwire: ClientEvidence, id: string, settleMs: number): Promise<Settled> {
  const { api, accepted } = turnwire;
  const turnIds = [...accepted.turns].filter(([, sessionId]) => sessionId === id).map(([turnId]) => turnId);
  const turns = await Promise.all(turnIds.map((turnId) => api.settled(turnId, settleMs).catch(() => api.turn(turnId))));
  return { turns, session: await restingSession(turnwire, id) };
}

async function inspect(turnwire: ClientEvidence, { session, turns }: Settled): Promise<SessionEvidence> {
  const messages = await turnwire.api.messages(session.id);
  return { session, turns, messages, log: await readLog(turnwire, session, turns) };
}

/** The last turn's end and the session's state are one write, but two reads. */
async function restingSession({ api }: ClientEvidence, id: string): Promise<SessionView> {
  let session = await api.session(id);
  for (let tries = 0; session.state === 'RUNNING' && tries < 100; tries += 1) {
    await sleep(20);
    session = await api.session(id);
  }
  return session;
}

async function readLog(
  turnwire: ClientEvidence,
  session: SessionView,
  turns: readonly TurnView[],
): Promise<readonly StreamEvent[]> {
  if (session.turnCount === 0) return [];
  const stream = await turnwire.stream(`/v1/sessions/${session.id}/events?after=0`);
  const awaited = turns.filter(({ status }) => status in TERMINAL);
  for (const { id } of awaited) {
    // A missing one is reported by what looks for it.
    await stream.until(({ type, data }) => isTerminal(type) && data.turnId === id, 1, 10_000).catch(() => undefined);
  }
  // For what should not come any more, and for turns that a client was never told of: as long as something comes.
  const restMs = awaited.length < session.turnCount ? 400 : 50;
  for (let seen = -1; stream.events.length !== seen; await sleep(restMs)) seen = stream.events.length;
  stream.close();
  return stream.events;
}

function isTerminal(type: string): boolean {
  return Object.values(TERMINAL).includes(type);
}

/** G3. */
function conversationFaults({ model, attempt, violations }: Evidence['requests'][number]): string[] {
  return violations.map((violation) => `request ${attempt} of ${model}: ${violation}`);
}

/** G1, G2: what was accepted has ended or waits, one turn at a time, and no session is stuck. */
function stateFaults({ session, turns, log }: SessionEvidence): string[] {
  const faults = turns.flatMap((turn) => turnFaults(turn, session, log));
  const waiting = turns.filter(({ status }) => status === 'WAITING');
  if (session.state === 'RUNNING') faults.push(`session ${session.id} is stuck`);
  if ((session.state === 'WAITING') !== (session.interrupt !== null)) faults.push(`${session.id}: stray interrupt`);
  if (waiting.length > 1) faults.push(`${session.id}: ${waiting.length} turns wait at once`);
  if (session.turnCount < turns.length) faults.push(`${session.id}: turnCount is less than ${turns.length}`);
  return faults;
}

/** G1, G6: one terminal event, the one of the status. */
function turnFaults(turn: TurnView, session: SessionView, log: readonly StreamEvent[]): string[] {
  const { id, status } = turn;
  const faults: string[] = [];
  const wanted = TERMINAL[status];
  const ends = log.filter(({ type, data }) => isTerminal(type) && data.turnId === id).map(({ type }) => type);
  const mayBeOpen = status === 'WAITING' || (status === 'QUEUED' && session.state === 'WAITING');
  if (wanted === undefined && !mayBeOpen) faults.push(`turn ${id} stays ${status}`);
  if (ends.join() !== (wanted ?? '')) faults.push(`turn ${id} is ${status} and was told to end as "${ends}"`);
  if ((wanted !== undefined) !== (turn.finishedAt !== null)) faults.push(`turn ${id} has a wrong finishedAt`);
  if ((status === 'FAILED') !== (turn.error !== null)) faults.push(`turn ${id} has a wrong error`);
  return faults;
}

/** Every call answered once, right after the message that made it; `seq` grows. */
function historyFaults({ session, messages }: SessionEvidence): string[] {
  const faults: string[] = [];
  let open = new Set<string | undefined>();
  let lastSeq = 0;
  for (const { seq, role, toolCallId, toolCalls } of messages) {
    if (seq <= lastSeq) faults.push(`${session.id}: seq ${seq} after ${lastSeq}`);
    lastSeq = seq;
    if (role === 'tool') {
      if (!open.delete(toolCallId)) faults.push(`${session.id}: seq ${seq} answers no open call`);
      continue;
    }
    if (open.size > 0) faults.push(`${session.id}: seq ${seq} comes before answers to ${[...open]}`);
    open = new Set(toolCalls?.map(({ id }) => id));
  }
  if (open.size > 0 && session.state !== 'WAITING') faults.push(`${session.id}: calls ${[...open]} are open for ever`);
  return faults;
}

/** G5: the deltas that a client keeps equal the stored text, for who was there and for who comes late. */
function textFaults(
  client: Pick<ClientEvidence, 'followers' | 'streams'>,
  { session, turns, messages, log }: SessionEvidence,
): string[] {
  const views = [
    { name: 'the log', events: log },
    ...client.followers
      .filter(({ sessionId }) => sessionId === session.id)
      .map(({ events }) => ({ name: 'a follower', events })),
    ...client.streams.filter(showsWholeTurn).map(({ events }) => ({ name: 'a stream', events })),
  ];
  return turns.flatMap(({ id, status }) => {
    if (isRolledBack(id, log) || !(status in TERMINAL)) return [];
    const stored = messages.filter(
      ({ turnId, role, content }) => turnId === id && role === 'assistant' && content !== '',
    );
    const wanted = JSON.stringify(stored.map(({ content }) => content));
    return views
      .filter(({ events }) => events.some(({ type, data }) => isTerminal(type) && data.turnId === id))
      .map(({ name, events }) => ({ name, kept: [...(keptTexts(events).get(id)?.values() ?? [])] }))
      .map(({ name, kept }) => ({ name, shown: JSON.stringify(kept.filter((text) => text !== '')) }))
      .filter(({ shown }) => shown !== wanted)
      .map(({ name, shown }) => `turn ${id}: ${name} keeps ${shown}, stored is ${wanted}`);
  });
}

/** Its messages were removed. */
function isRolledBack(turnId: string, log: readonly StreamEvent[]): boolean {
  return log.some(({ type, data }) => type === 'cancelled' && data.turnId === turnId && data.reason === 'rolled_back');
}

/** Whether a turn's own stream was there from its start to its end, without an interrupt between. */
function showsWholeTurn({ path, types }: ClientEvidence['streams'][number]): boolean {
  return path.endsWith('/turns') && types.includes('turn.started') && types.some(isTerminal);
}

/** The log of the session whose id is in the text; null where it is none that was kept. */
function logOf(sessions: readonly SessionEvidence[], text: string): readonly StreamEvent[] | null {
  return sessions.find(({ session }) => text.includes(session.id))?.log ?? null;
}

/** G4: a finished call is never run again, and one with an unknown outcome only where the tool says that it may be. */
function toolFaults(
  { toolRuns, idempotentTools = new Set() }: Evidence,
  sessions: readonly SessionEvidence[],
): string[] {
  const results = sessions.flatMap(({ log }) => log.filter(({ type }) => type === 'tool.result'));
  return toolRuns.flatMap((run, i) => {
    const before = toolRuns.slice(0, i).filter(({ idempotencyKey }) => idempotencyKey === run.idempotencyKey);
    if (before.length === 0) return [];
    if (!idempotentTools.has(run.tool))
      return [`${run.tool}: call ${run.idempotencyKey} ran ${before.length + 1} times`];
    const settled = results.some(
      ({ data }) => data.ts < run.startedAt && data.turnId === run.turnId && data.result === resultOf(before),
    );
    return settled ? [`${run.tool}: call ${run.idempotencyKey} ran again after its result was stored`] : [];
  });
}

/** An idempotent tool of these tests answers with its key, by which its result is found. */
function resultOf(runs: Evidence['toolRuns']): string {
  return JSON.stringify({ key: runs[0]?.idempotencyKey });
}
