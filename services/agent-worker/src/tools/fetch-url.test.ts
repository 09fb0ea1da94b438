import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createComputeThread } from './compute-thread.ts';
import { createFetchUrlTool } from './fetch-url.ts';
import { callContext } from './fixtures/call-context.ts';
import { type LocalServer, startServer } from './fixtures/local-server.ts';
import { createGuardedFetch } from './guarded-fetch.ts';

describe('fetch_url', () => {
  const guarded = createGuardedFetch({ permits: () => true });
  const thread = createComputeThread({
    module: new URL('./html-text-thread.ts', import.meta.url),
    limitMs: 3_000,
    clock: realClock,
  });
  let server: LocalServer | null = null;
  afterEach(() => server?.close());
  afterAll(async () => {
    await thread.close();
    await guarded.close();
  });

  const toolOn = (clock = realClock) => createFetchUrlTool({ fetch: guarded.fetch, clock, htmlText: thread.run });
  async function read(listener: RequestListener, path = '/', signal?: AbortSignal): Promise<string> {
    server = await startServer(listener);
    return toolOn().run({ url: server.url + path }, callContext(signal));
  }
  const page = (body: string | Uint8Array, type: string) =>
    read((_request, response) => response.setHeader('content-type', type).end(body));

  it('answers what a person would read of a page', async () => {
    const html = `<html><head><title>Fish &amp; chips</title><style>p { color: red }</style></head>
      <body><script>alert("x")</script><h1>Menu</h1><p>Cod   with <a href="https://peas.test/">peas</a></p>
      <table><tr><th>Size</th><td>Large</td></tr></table></body></html>`;
    expect(await page(html, 'text/html; charset=utf-8')).toBe(
      `${server?.url}/\n\nFish & chips\n\nMenu\n\nCod with peas [https://peas.test/]\n\nSize Large`,
    );
  });

  it('leaves JSON and text as they are', async () => {
    expect(await page('{"a": 1}', 'application/json')).toBe(`${server?.url}/\n\n{"a": 1}`);
    await server?.close();
    expect(await page('a <b> c', 'text/plain')).toBe(`${server?.url}/\n\na <b> c`);
  });

  it.each([
    ['its header', Buffer.from([0xc4, 0xe3, 0xba, 0xc3]), 'text/plain; charset=GBK'],
    [
      'its own meta element',
      Buffer.from([...Buffer.from('<meta charset="gb2312"><p>'), 0xc4, 0xe3, 0xba, 0xc3]),
      'text/html',
    ],
    ['a byte order mark', Buffer.from([0xff, 0xfe, 0x60, 0x4f, 0x7d, 0x59]), 'text/plain'],
    ['nothing, as UTF-8', Buffer.from('你好'), 'text/plain'],
    ['an unknown charset, as UTF-8', Buffer.from('你好'), 'text/plain; charset=martian'],
  ])('reads a text by %s', async (_what, body, type) => {
    expect(await page(body, type)).toBe(`${server?.url}/\n\n你好`);
  });

  it.each([
    ['image/png', 'image/png', Buffer.from([0x89, 0x50])],
    ['application/pdf', 'application/pdf', Buffer.from('%PDF')],
    ['bytes that say they are text', 'text/plain', Buffer.from([65, 0, 66])],
  ])('refuses %s', async (_what, type, body) => {
    await expect(page(body, type)).rejects.toThrow(`The URL leads to ${type}, which is not text.`);
  });

  it('tells the status of an error', async () => {
    await expect(read((_request, response) => response.writeHead(404).end('no'))).rejects.toThrow(
      'The server answered 404 Not Found.',
    );
  });

  it('says where redirects led', async () => {
    const text = await read((request, response) => {
      if (request.url === '/') response.writeHead(301, { location: '/new' }).end();
      else response.setHeader('content-type', 'text/plain').end('here');
    });
    expect(text).toBe(`${server?.url}/new\n\nhere`);
  });

  it('cuts a long text and says so', async () => {
    const text = await page('ab'.repeat(20_000), 'text/plain');
    expect(text.endsWith('ab\n\n[Cut: the first 20000 of 40000 characters.]')).toBe(true);
    expect(text.length).toBeLessThan(20_200);
  });

  it('reads a megabyte of a body that never ends, then closes the connection', async () => {
    let sent = 0;
    const text = await read((_request, response) => {
      response.setHeader('content-type', 'text/plain');
      const push = () => {
        while (!response.destroyed) {
          sent += 16_384;
          if (!response.write('x'.repeat(16_384))) break;
        }
      };
      response.on('drain', push);
      push();
    });
    expect(text).toContain('[Cut: the first 20000 of more than 1000000 characters.]');
    await expect.poll(() => server?.sockets.size, { timeout: 1_000 }).toBe(0);
    expect(sent).toBeLessThan(50_000_000);
  });

  it('is not fooled by a small body that unpacks to a large one', async () => {
    const text = await read((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(50_000_000, 'x')));
    });
    expect(text).toContain('of more than 1000000 characters.]');
  });

  it('gives up after its time, on a body that drips', async () => {
    const clock = createManualClock(0);
    server = await startServer((_request, response) => {
      response.setHeader('content-type', 'text/plain').write('a');
      const timer = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const running = toolOn(clock).run({ url: server.url }, callContext());
    const failed = expect(running).rejects.toThrow('The page was not there within 20 seconds.');
    await expect.poll(() => server?.sockets.size).toBe(1);
    await clock.advance(20_000);
    await failed;
    await expect.poll(() => server?.sockets.size, { timeout: 1_000 }).toBe(0);
  });

  it('closes the socket on abort', async () => {
    const controller = new AbortController();
    const running = read(() => controller.abort(new Error('stop')), '/', controller.signal);
    await expect(running).rejects.toThrow('stop');
    await expect.poll(() => server?.sockets.size, { timeout: 1_000 }).toBe(0);
  });

  it('stops a page that is made to take for ever to read, while the process goes on', async () => {
    // The same 1 MB keeps the converter busy for 18 seconds.
    const running = page('<div>'.repeat(200_000), 'text/html');
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 20);
    await expect(running).rejects.toThrow('It took longer than 3000 ms and was stopped.');
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(50);
    await server?.close();
    expect(await page('<p>next</p>', 'text/html')).toContain('next');
  });
});
