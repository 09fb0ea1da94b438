import { messageSchema } from '@turnwire/shared/contracts/http-messages';
import { pageSchema } from '@turnwire/shared/contracts/http-page';
import { sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { turnSchema } from '@turnwire/shared/contracts/http-turns';
import { afterEach, describe, expect, test } from 'vitest';
import { type GatewayFixture, openStream, startFixture, type TurnRun } from './gateway-fixture.ts';

let fixture: GatewayFixture;
/** Lets a script wait for its test. */
let gate: { opened: Promise<void>; open: () => void };

afterEach(() => fixture.close());

function newGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  gate = { opened, open };
}

/** Says what the text asks for: `say N`, `hold` (until the gate opens or it is cancelled), `approve N`. */
async function script(run: TurnRun): Promise<void> {
  const [verb, count = '1'] = run.userText.split(' ');
  if (verb === 'approve' && !run.resumed) return run.suspend(Number(count));
  if (verb === 'hold') {
    run.delta('before ');
    let isOpen = false;
    void gate.opened.then(() => {
      isOpen = true;
    });
    while (!isOpen && !(await run.cancelled())) await new Promise((resolve) => setTimeout(resolve, 5));
    run.delta('after');
    return;
  }
  for (let n = 1; n <= Number(count); n += 1) run.delta(`w${n} `);
}

async function startSession(): Promise<string> {
  newGate();
  fixture = await startFixture(script);
  return fixture.session();
}

const turnsOf = (id: string) => `${fixture.url}/v1/sessions/${id}/turns`;

async function finished(turnId: string) {
  for (;;) {
    const { body } = await fixture.call('GET', `/v1/turns/${turnId}`);
    if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(body.status)) return body;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function waiting(sessionId: string) {
  for (;;) {
    const { body } = await fixture.call('GET', `/v1/sessions/${sessionId}`);
    if (body.state === 'WAITING') return body;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a new turn', () => {
  test('is followed from its place in line to its end, and the stream closes', async () => {
    const id = await startSession();
    const stream = await openStream(turnsOf(id), { method: 'POST', body: { text: 'say 3' } });
    expect(stream.response.statusCode).toBe(200);
    expect(stream.response.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(stream.response.headers['cache-control']).toBe('no-cache, no-transform');
    expect(stream.response.headers['x-accel-buffering']).toBe('no');
    await stream.closed();
    expect(stream.ended).toBe(true);
    expect(stream.raw.startsWith(': ')).toBe(true);
    expect(stream.types).toEqual(['turn.queued', 'turn.started', 'turn.delta', 'turn.delta', 'turn.delta', 'done']);
    expect(stream.text).toBe('w1 w2 w3 ');
    expect(stream.events[0]).toMatchObject({ id: null, data: { position: 0 } });
    expect(stream.ids).toEqual([...stream.ids].sort((a, b) => a - b));
    for (const { data } of stream.events)
      expect(data).toMatchObject({ turnId: expect.any(String), ts: expect.any(Number) });
    const done = stream.events.at(-1)?.data;
    expect(messageSchema.parse(done.message).content).toBe(stream.text);
  });

  test('answers 202 at once without the header, and is readable to its end', async () => {
    const id = await startSession();
    const { status, body } = await fixture.call('POST', `/v1/sessions/${id}/turns`, { text: 'say 2' });
    expect(status).toBe(202);
    expect(turnSchema.parse(body)).toMatchObject({ status: 'QUEUED', number: 1, text: 'say 2' });
    expect(turnSchema.parse(await finished(body.id)).status).toBe('COMPLETED');
    const session = await fixture.call('GET', `/v1/sessions/${id}`);
    expect(sessionSchema.parse(session.body)).toMatchObject({ state: 'IDLE', turnCount: 1 });
    const messages = await fixture.call('GET', `/v1/sessions/${id}/messages?limit=1`);
    expect(pageSchema(messageSchema).parse(messages.body).items).toHaveLength(1);
    const rest = await fixture.call('GET', `/v1/sessions/${id}/messages?cursor=${messages.body.nextCursor}`);
    expect(rest.body.items.map(({ role }: { role: string }) => role)).toEqual(['assistant']);
  });

  test('is accepted although the queue and the bus fail', async () => {
    const id = await startSession();
    fixture.adapters.queue.enqueue = () => Promise.reject(new Error('the queue is away'));
    fixture.adapters.bus.announce = () => {
      throw new Error('the bus is away');
    };
    const { status } = await fixture.call('POST', `/v1/sessions/${id}/turns`, { text: 'say 1', onBusy: 'interrupt' });
    expect(status).toBe(202);
  });

  test('on a busy session waits, is refused, or ends the running one', async () => {
    const id = await startSession();
    const first = await openStream(turnsOf(id), { method: 'POST', body: { text: 'hold' } });
    await first.until(({ text }) => text === 'before ');
    const refused = await fixture.call('POST', `/v1/sessions/${id}/turns`, { text: 'no', onBusy: 'reject' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'session_busy', state: 'RUNNING' } });
    const second = await openStream(turnsOf(id), { method: 'POST', body: { text: 'say 1' } });
    await second.until(({ types }) => types.includes('turn.queued'));
    expect(second.events[0]?.data.position).toBe(1);
    const third = await openStream(turnsOf(id), { method: 'POST', body: { text: 'say 2', onBusy: 'interrupt' } });
    await Promise.all([first.closed(), second.closed(), third.closed()]);
    expect(first.events.at(-1)).toMatchObject({ type: 'cancelled', data: { reason: 'interrupted' } });
    expect(first.types.filter((type) => type === 'cancelled')).toHaveLength(1);
    // Each stream has its own turn's events and nothing of the others'.
    for (const stream of [first, second, third])
      expect(new Set(stream.events.map(({ data }) => data.turnId)).size).toBe(1);
    expect([second.text, third.text]).toEqual(['w1 ', 'w1 w2 ']);
  });
});

describe('the same Idempotency-Key', () => {
  test('20 times in parallel makes one turn, and tells so', async () => {
    const id = await startSession();
    const headers = { 'idempotency-key': 'once only' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fixture.call('POST', `/v1/sessions/${id}/turns`, { text: 'say 1' }, headers)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(202));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers.filter((answer) => answer.headers.get('idempotency-replayed') === 'true')).toHaveLength(19);
    const other = await fixture.call('POST', `/v1/sessions/${id}/turns`, { text: 'say 2' }, headers);
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
  });

  test('20 times in parallel over SSE streams one turn to all', async () => {
    const id = await startSession();
    const post = { method: 'POST', body: { text: 'say 5' }, headers: { 'idempotency-key': 'k' } };
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(turnsOf(id), post)));
    await Promise.all(streams.map((stream) => stream.closed()));
    for (const stream of streams) {
      expect(stream.text).toBe('w1 w2 w3 w4 w5 ');
      expect(stream.ids).toEqual(streams[0]?.ids);
      expect(stream.types.at(-1)).toBe('done');
    }
    const session = await fixture.call('GET', `/v1/sessions/${id}`);
    expect(session.body.turnCount).toBe(1);
  });

  test('replays an ended turn from its first event and closes', async () => {
    const id = await startSession();
    const post = { method: 'POST', body: { text: 'say 3' }, headers: { 'idempotency-key': 'k' } };
    const first = await (await openStream(turnsOf(id), post)).closed();
    await (await openStream(turnsOf(id), { method: 'POST', body: { text: 'say 9' } })).closed();
    const again = await (await openStream(turnsOf(id), post)).closed();
    expect(again.response.headers['idempotency-replayed']).toBe('true');
    expect(again.events).toEqual(first.events.filter((event) => event.id !== null));
  });

  test('says gap and closes when the log has lost the turn', async () => {
    const id = await startSession();
    const post = { method: 'POST', body: { text: 'say 3' }, headers: { 'idempotency-key': 'k' } };
    await (await openStream(turnsOf(id), post)).closed();
    expect(await fixture.adapters.bus.prune(Date.now() + 1000, 1000)).toBe(5);
    const emptied = await (await openStream(turnsOf(id), post)).closed();
    expect(emptied.types).toEqual(['gap']);
    // Also where a later turn's events are in the log.
    await (await openStream(turnsOf(id), { method: 'POST', body: { text: 'say 1' } })).closed();
    const overtaken = await (await openStream(turnsOf(id), post)).closed();
    expect(overtaken.types).toEqual(['gap']);
    expect(overtaken.events[0]?.id).toBeNull();
  });

  test('follows a turn that still runs', async () => {
    const id = await startSession();
    const post = { method: 'POST', body: { text: 'hold' }, headers: { 'idempotency-key': 'k' } };
    const first = await openStream(turnsOf(id), post);
    await first.until(({ text }) => text === 'before ');
    first.destroy();
    const again = await openStream(turnsOf(id), post);
    await again.until(({ text }) => text === 'before ');
    gate.open();
    await again.closed();
    expect(again.text).toBe('before after');
    expect(again.types.at(-1)).toBe('done');
  });

  test.each(['', 'x'.repeat(256), 'tab\there'])('that is malformed is refused: %j', async (key) => {
    const id = await startSession();
    const { status, body } = await fixture.call(
      'POST',
      `/v1/sessions/${id}/turns`,
      { text: 'x' },
      { 'idempotency-key': key },
    );
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
  });
});

describe('resume', () => {
  test('without a body approves, and streams from turn.resumed to the end', async () => {
    const id = await startSession();
    const first = await (await openStream(turnsOf(id), { method: 'POST', body: { text: 'approve 2' } })).closed();
    expect(first.types.at(-1)).toBe('interrupt');
    await waiting(id);
    const resume = { method: 'POST', headers: { 'idempotency-key': 'r' } };
    const resumed = await (await openStream(`${fixture.url}/v1/sessions/${id}/resume`, resume)).closed();
    expect(resumed.types).toEqual(['turn.resumed', 'turn.delta', 'turn.delta', 'tool.result', 'tool.result', 'done']);
    expect(Object.values(resumed.events[0]?.data.decisions)).toEqual([{ action: 'approve' }, { action: 'approve' }]);
    const again = await (await openStream(`${fixture.url}/v1/sessions/${id}/resume`, resume)).closed();
    expect(again.events).toEqual(resumed.events);
    const late = await fixture.call('POST', `/v1/sessions/${id}/resume`);
    expect(late).toMatchObject({ status: 409, body: { code: 'session_not_waiting', state: 'IDLE' } });
  });

  test('with a part of the decisions answers JSON 200 whatever is accepted, and keeps what was decided', async () => {
    const id = await startSession();
    await (await openStream(turnsOf(id), { method: 'POST', body: { text: 'approve 2' } })).closed();
    const { interrupt } = await waiting(id);
    const [one, two] = interrupt.toolCalls.map((call: { id: string }) => call.id);
    const accept = { accept: 'text/event-stream' };
    const partial = { decisions: { [one]: { action: 'reject', reason: 'no' } } };
    const answer = await fixture.call('POST', `/v1/sessions/${id}/resume`, partial, accept);
    expect(answer.status).toBe(200);
    expect(sessionSchema.parse(answer.body).state).toBe('WAITING');
    const stale = await fixture.call('POST', `/v1/sessions/${id}/resume`, { interruptId: 'int_other' });
    expect(stale).toMatchObject({ status: 409, body: { code: 'interrupt_stale', interruptId: interrupt.id } });
    const changed = await fixture.call('POST', `/v1/sessions/${id}/resume`, {
      decisions: { [one]: { action: 'approve' } },
    });
    expect(changed).toMatchObject({ status: 409, body: { code: 'decision_conflict', toolCallId: one } });
    const rest = { decisions: { [two]: { action: 'edit', arguments: { to: 'x' } } } };
    const settled = await fixture.call('POST', `/v1/sessions/${id}/resume`, rest);
    expect(settled.status).toBe(202);
    expect(turnSchema.parse(settled.body).id).toBe(interrupt.turnId);
    expect((await finished(interrupt.turnId)).status).toBe('COMPLETED');
  });
});

describe('cancel and delete', () => {
  test('a cancel ends the running turn, and repeated has no effect', async () => {
    const id = await startSession();
    const stream = await openStream(turnsOf(id), { method: 'POST', body: { text: 'hold' } });
    await stream.until(({ text }) => text === 'before ');
    const { status, body } = await fixture.call('POST', `/v1/sessions/${id}/cancel`, {});
    expect(status).toBe(202);
    expect(sessionSchema.parse(body).id).toBe(id);
    await stream.closed();
    expect(stream.events.at(-1)).toMatchObject({ type: 'cancelled', data: { reason: 'requested' } });
    expect((await fixture.call('POST', `/v1/sessions/${id}/cancel`)).status).toBe(202);
    const turnId = stream.events[0]?.data.turnId;
    const again = await fixture.call('POST', `/v1/turns/${turnId}/cancel`);
    expect(again.status).toBe(202);
    expect(turnSchema.parse(again.body).status).toBe('CANCELLED');
  });

  test('a cancel of a waiting turn wakes a worker that ends it', async () => {
    const id = await startSession();
    const watcher = await openStream(`${fixture.url}/v1/sessions/${id}/events?after=0`);
    await fixture.call('POST', `/v1/sessions/${id}/turns`, { text: 'approve 1' });
    const { activeTurnId } = await waiting(id);
    expect((await fixture.call('POST', `/v1/turns/${activeTurnId}/cancel`)).status).toBe(202);
    await watcher.until(({ types }) => types.includes('cancelled'));
    expect((await finished(activeTurnId)).status).toBe('CANCELLED');
  });

  test('a deletion ends every stream of the session, which is unknown from then on', async () => {
    const id = await startSession();
    const turn = await openStream(turnsOf(id), { method: 'POST', body: { text: 'hold' } });
    const watcher = await openStream(`${fixture.url}/v1/sessions/${id}/events`);
    await turn.until(({ text }) => text === 'before ');
    expect((await fixture.call('DELETE', `/v1/sessions/${id}`)).status).toBe(204);
    await Promise.all([turn.closed(), watcher.closed()]);
    for (const stream of [turn, watcher]) {
      const last = stream.events.at(-1);
      expect(last).toMatchObject({ id: null, type: 'cancelled', data: { reason: 'session_deleted' } });
      expect(stream.ended).toBe(true);
    }
    const idle = await startSession();
    const idler = await openStream(`${fixture.url}/v1/sessions/${idle}/events`);
    expect((await fixture.call('DELETE', `/v1/sessions/${idle}`)).status).toBe(204);
    await idler.closed();
    expect([idler.events, idler.ended]).toEqual([[], true]);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/messages'],
      ['GET', '/events'],
      ['POST', '/cancel'],
      ['POST', '/resume'],
    ]) {
      const { status, body } = await fixture.call(method ?? '', `/v1/sessions/${id}${path}`);
      expect({ path, status, code: body.code }).toEqual({ path, status: 404, code: 'not_found' });
    }
  });
});
