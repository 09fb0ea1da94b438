import { once } from 'node:events';
import { connect } from 'node:net';
import { eventId } from '@turnwire/shared/domain/event';
import { afterEach, describe, expect, test } from 'vitest';
import { type GatewayFixture, openStream, type Script, type SseReader, startFixture } from './gateway-fixture.ts';

let fixture: GatewayFixture;
afterEach(() => fixture.close());

const say: Script = async (run) => {
  for (let n = 1; n <= Number(run.userText); n += 1) {
    run.delta(`w${n} `);
    if (n % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
};

async function start(script: Script = say): Promise<string> {
  fixture = await startFixture(script);
  return fixture.session();
}

const eventsOf = (id: string, query = '') => `${fixture.url}/v1/sessions/${id}/events${query}`;
const post = (id: string, text: string) => fixture.call('POST', `/v1/sessions/${id}/turns`, { text });
const hasDone = ({ types }: SseReader) => types.includes('done');
const watch = (id: string, query = '', headers: Record<string, string> = {}) =>
  openStream(eventsOf(id, query), { headers });

/** How many sessions the gateway listens to. */
function countSubscriptions(): { open: number } {
  const count = { open: 0 };
  const { bus } = fixture.adapters;
  const subscribe = bus.subscribe.bind(bus);
  bus.subscribe = async (...args) => {
    const subscription = await subscribe(...args);
    count.open += 1;
    return {
      close() {
        count.open -= 1;
        subscription.close();
      },
    };
  };
  return count;
}

async function eventually(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 400) throw new Error('It never came true.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a reader', () => {
  test('that reconnects after every single event gets all later ones once', async () => {
    const id = await start();
    const whole = await watch(id, '?after=-1');
    await post(id, '30');
    await whole.until(hasDone);
    const { events } = whole;
    expect(events.filter(({ type }) => type === 'turn.delta')).toHaveLength(30);
    const durable = events.filter((event) => event.id !== null);
    for (const [index, event] of durable.slice(0, -1).entries()) {
      const again = await watch(id, '?after=junk', { 'last-event-id': String(event.id) });
      await again.until(hasDone);
      expect(again.events).toEqual(durable.slice(index + 1));
      again.destroy();
    }
    whole.destroy();
  });

  test('that reconnects while the turn runs misses and repeats nothing', async () => {
    const id = await start();
    const whole = await watch(id, '?after=0');
    await post(id, '200');
    const seen: number[] = [];
    while (true) {
      const part = await watch(id, '', { 'last-event-id': String(seen.at(-1) ?? 0) });
      await part.until(({ ids, ended }) => ids.length > 7 || hasDone(part) || ended !== null);
      part.destroy();
      // What came before the break is what a client has; all of it counts.
      seen.push(...part.ids);
      if (hasDone(part)) break;
    }
    await whole.until(hasDone);
    expect(seen).toEqual(whole.ids);
    whole.destroy();
  });

  test('sees the same as another, and losing one changes nothing for the other', async () => {
    const id = await start();
    const subscriptions = countSubscriptions();
    const [one, two] = await Promise.all([watch(id), watch(id)]);
    expect(subscriptions.open).toBe(1);
    await post(id, '50');
    await one.until(({ ids }) => ids.length > 5);
    one.destroy();
    await two.until(hasDone);
    expect(two.ids.slice(0, one.ids.length)).toEqual(one.ids);
    expect(two.text).toBe(Array.from({ length: 50 }, (_, n) => `w${n + 1} `).join(''));
    expect(subscriptions.open).toBe(1);
    // The hub goes with its last client, also where another comes at that moment.
    two.destroy();
    const three = await watch(id);
    await post(id, '2');
    await three.until(hasDone);
    expect(three.text).toBe('w1 w2 ');
    three.destroy();
    await eventually(() => subscriptions.open === 0);
  });

  test('may come and go in any order with others', async () => {
    const id = await start();
    const subscriptions = countSubscriptions();
    await post(id, '300');
    for (let round = 0; round < 20; round += 1) {
      const readers = await Promise.all([watch(id, '?after=0'), watch(id), watch(id, '?after=0')]);
      const order = round % 2 === 0 ? readers : readers.toReversed();
      for (const reader of order) reader.destroy();
    }
    await eventually(() => subscriptions.open === 0);
    const whole = await watch(id, '?after=0');
    await whole.until(hasDone);
    expect(whole.events.filter(({ type }) => type === 'turn.delta')).toHaveLength(300);
    whole.destroy();
  });

  test('without a cursor hears what comes from now on, and announcements', async () => {
    const id = await start();
    const first = await watch(id, '?after=0');
    await post(id, '1');
    await first.until(hasDone);
    const late = await watch(id);
    const accepted = await post(id, '2');
    await late.until(hasDone);
    expect(new Set(late.events.map(({ data }) => data.turnId))).toEqual(new Set([accepted.body.id]));
    expect(late.types).toContain('turn.queued');
    expect(first.types.filter((type) => type === 'turn.queued')).toHaveLength(2);
    const filtered = await watch(id, `?after=0&turnId=${accepted.body.id}`);
    await filtered.until(hasDone);
    expect(filtered.events).toEqual(late.events.filter((event) => event.id !== null));
    for (const reader of [first, late, filtered]) reader.destroy();
  });

  test.each(['abc', '-2', '1.5', '1e3', '99999999999999999999', ' '])(
    'with the cursor %j is refused',
    async (cursor) => {
      const id = await start();
      const { status, body } = await fixture.call(
        'GET',
        `/v1/sessions/${id}/events?after=${encodeURIComponent(cursor)}`,
      );
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
      if (cursor === ' ') return;
      const header = await fixture.call('GET', `/v1/sessions/${id}/events`, undefined, { 'last-event-id': cursor });
      expect(header.status).toBe(400);
    },
  );

  test('with a cursor beyond the tail hears what comes from now on', async () => {
    const id = await start();
    const first = await watch(id, '?after=0');
    await post(id, '1');
    await first.until(hasDone);
    for (const beyondOf of [() => eventId(99, 1), () => (first.ids.at(-1) ?? 0) + 1000]) {
      while ((await fixture.call('GET', `/v1/sessions/${id}`)).body.state !== 'IDLE');
      const reader = await watch(id, `?after=${beyondOf()}`);
      const { body } = await post(id, '2');
      await reader.until(hasDone);
      expect(reader.text).toBe('w1 w2 ');
      expect(new Set(reader.events.map(({ data }) => data.turnId))).toEqual(new Set([body.id]));
      reader.destroy();
    }
    first.destroy();
  });
});

describe('what the log has lost', () => {
  test('is said when all of it is gone', async () => {
    const id = await start();
    const first = await watch(id, '?after=0');
    await post(id, '3');
    await first.until(hasDone);
    first.destroy();
    const [cursor = 0, last = 0] = [first.ids[1], first.ids.at(-1)];
    await fixture.adapters.bus.prune(Date.now() + 1000, 1000);
    const gap = await watch(id, `?after=${cursor}`);
    await gap.until(({ types }) => types.includes('gap'));
    expect(gap.events).toMatchObject([{ id: null, type: 'gap', data: { from: cursor, to: last } }]);
    // Then it goes on live.
    await post(id, '2');
    await gap.until(hasDone);
    expect(gap.text).toBe('w1 w2 ');
    gap.destroy();
    const none = await watch(id, `?after=${gap.ids.at(-1)}`);
    await post(id, '1');
    await none.until(hasDone);
    expect(none.types).not.toContain('gap');
    none.destroy();
    // Who was away meanwhile can't know what it missed, and is told so.
    const away = await watch(id, `?after=${last}`);
    await away.until(({ types }) => types.filter((type) => type === 'done').length === 2);
    expect(away.types[0]).toBe('gap');
    away.destroy();
  });

  test('is said when the older part is gone', async () => {
    const id = await start();
    const first = await watch(id, '?after=0');
    await post(id, '9');
    await first.until(hasDone);
    first.destroy();
    const [one = 0, two = 0] = first.ids;
    expect(await fixture.adapters.bus.prune(Date.now() + 1000, 4)).toBe(4);
    for (const cursor of [0, one, two]) {
      const reader = await watch(id, `?after=${cursor}`);
      await reader.until(hasDone);
      expect(reader.events[0]).toMatchObject({ id: null, type: 'gap', data: { from: cursor, to: first.ids[3] } });
      expect(reader.ids).toEqual(first.ids.slice(4));
      reader.destroy();
    }
    const whole = await watch(id, `?after=${first.ids[3]}`);
    await whole.until(hasDone);
    expect(whole.types).not.toContain('gap');
    whole.destroy();
  });
});

describe('a reader that does not read', () => {
  const PIECE = 'x'.repeat(50_000);
  const PIECES = 1000; // 50 MB

  const flood: Script = async (run) => {
    for (let n = 1; n <= PIECES; n += 1) {
      run.think(PIECE);
      // A little slower than a client of this process reads.
      if (n % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };

  /** A client that sends its request, and never reads. */
  async function openDeaf(path: string) {
    const { port } = new URL(fixture.url);
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    socket.pause();
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  }

  test('is dropped, costs a bounded memory, and disturbs neither the turn nor another reader', async () => {
    const id = await start(flood);
    let dropped = 0;
    let clients = 0;
    const { metrics } = fixture.adapters;
    await fixture.gateway.close();
    const counting = {
      ...metrics,
      sseDropped: () => {
        dropped += 1;
      },
      sseClients: (delta: 1 | -1) => {
        clients += delta;
      },
    };
    const { startGateway } = await import('@turnwire/gateway/gateway');
    const model = { label: 'scripted', demo: false };
    const options = {
      ...fixture.adapters,
      metrics: counting,
      model,
      apiKeys: [],
      toolsAllowStdio: true,
      metricsKey: null,
      host: '127.0.0.1',
      port: 0,
    };
    const gateway = await startGateway(options);
    fixture = { ...fixture, gateway, url: gateway.url };
    const deaf = await openDeaf(`/v1/sessions/${id}/events`);
    const reader = await openStream(`${gateway.url}/v1/sessions/${id}/events`);
    await eventually(() => clients === 2);
    global.gc?.();
    const before = process.memoryUsage().rss;
    let peak = 0;
    const sampler = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss - before);
    }, 5);
    let bytes = 0;
    reader.response.removeAllListeners('data');
    reader.response.on('data', (chunk: string) => {
      bytes += chunk.length;
    });
    await fetch(`${gateway.url}/v1/sessions/${id}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"flood"}',
    });
    const expected = PIECE.length * PIECES;
    for (let tries = 0; bytes < expected && tries < 2000; tries += 1) await new Promise((r) => setTimeout(r, 10));
    clearInterval(sampler);
    expect(bytes).toBeGreaterThan(expected);
    await eventually(() => dropped === 1 && clients === 1);
    // Of 50 MB that the deaf client did not take, this process keeps its bound, the log's pages and the young heap.
    expect(peak).toBeLessThan(150e6);
    deaf.destroy();
    reader.destroy();
    // It comes back by id and gets the rest, at its own pace.
    const back = await openStream(`${gateway.url}/v1/sessions/${id}/events`, { headers: { 'last-event-id': '0' } });
    await back.until(hasDone, 20_000);
    expect(back.types).not.toContain('gap');
    expect(back.types.filter((type) => type === 'reasoning.delta')).toHaveLength(PIECES);
    back.destroy();
  }, 120_000);

  test('of the log is waited for, and costs a bounded memory', async () => {
    const id = await start(flood);
    await post(id, 'flood');
    while ((await fixture.call('GET', `/v1/sessions/${id}`)).body.state !== 'IDLE') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    let pages = 0;
    const { bus } = fixture.adapters;
    const replay = bus.replay.bind(bus);
    bus.replay = async function* (...args) {
      for await (const page of replay(...args)) {
        pages += 1;
        yield page;
      }
    };
    const deaf = await openDeaf(`/v1/sessions/${id}/events?after=0`);
    await eventually(() => pages > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(pages).toBe(1); // of 500 events, 25 MB: more than the kernel takes
    deaf.destroy();
  }, 120_000);
});

describe('closing', () => {
  test('ends the streams in good order and refuses new calls', async () => {
    const id = await start();
    const [watcher, other] = await Promise.all([watch(id), watch(id, '?after=0')]);
    const closing = fixture.gateway.close();
    await Promise.all([watcher.closed(), other.closed()]);
    expect([watcher.ended, other.ended]).toEqual([true, true]);
    await closing;
    await expect(fetch(fixture.url)).rejects.toThrow();
  });

  test('does not wait for a client that reads nothing', async () => {
    const id = await start(async (run) => {
      for (let n = 0; n < 10; n += 1) run.delta('x'.repeat(1_000_000));
    });
    const stalled = await watch(id);
    stalled.response.pause();
    await post(id, 'x');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = performance.now();
    await fixture.gateway.close();
    expect(performance.now() - before).toBeLessThan(4000);
  });
});

test('the bus that is away is a 503 at once, and the stream can be opened when it is back', async () => {
  const id = await start();
  const { bus } = fixture.adapters;
  const subscribe = bus.subscribe.bind(bus);
  const { unavailable } = await import('@turnwire/shared/domain/errors');
  bus.subscribe = () => Promise.reject(unavailable('The event bus', new Error('down')));
  const { status, headers, body } = await fixture.call('GET', `/v1/sessions/${id}/events`);
  expect({ status, code: body.code, after: headers.get('retry-after') }).toEqual({
    status: 503,
    code: 'unavailable',
    after: '1',
  });
  const refused = await openStream(`${fixture.url}/v1/sessions/${id}/turns`, { method: 'POST', body: { text: '1' } });
  expect(refused.response.statusCode).toBe(503);
  expect((await fixture.call('GET', `/v1/sessions/${id}`)).body.turnCount).toBe(0);
  bus.subscribe = subscribe;
  const reader = await watch(id);
  await post(id, '1');
  await reader.until(hasDone);
  reader.destroy();
});

test('heartbeats are single comment lines within five seconds', async () => {
  const id = await start();
  const reader = await watch(id);
  const greetings = reader.comments.length;
  await reader.until(({ comments }) => comments.length > Math.max(1, greetings), 7000);
  expect(reader.raw).toMatch(/^: turnwire\nretry: \d+\n(: ping\n)+$/);
  expect(reader.events).toEqual([]);
  reader.destroy();
});
