import { afterEach, describe, expect, it } from 'vitest';
import { type LocalServer, startServer } from './fixtures/local-server.ts';
import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';
import { isPublicAddress } from './public-address.ts';

describe('createGuardedFetch', () => {
  const open: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(one: T): T => {
    open.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });
  const serve = async (...args: Parameters<typeof startServer>): Promise<LocalServer> =>
    keep(await startServer(...args));
  const guard = (options: Partial<GuardedFetchOptions> = {}): GuardedFetch =>
    keep(createGuardedFetch({ permits: isPublicAddress, ...options }));
  // Linux answers on all of 127.0.0.0/8, so one address can stand for the internet and another for what must not be reached.
  const outside = { permits: (address: string) => address === '127.0.0.2' };

  it('fetches from a permitted address', async () => {
    const server = await serve(
      (request, response) => response.end(`hello ${request.headers['user-agent']}`),
      '127.0.0.2',
    );
    const response = await guard(outside).fetch(server.url);
    expect(await response.text()).toBe('hello turnwire');
  });

  it.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://0x7f.1:PORT/',
    'http://2130706433:PORT/',
    'http://017700000001:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://0.0.0.0:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
  ])('never connects to %s', async (url) => {
    let hits = 0;
    const server = await serve((_request, response) => {
      hits += 1;
      response.end('secret');
    });
    await expect(guard().fetch(url.replace('PORT', String(server.port)))).rejects.toThrow(
      /is an address of a private or reserved network/,
    );
    expect(hits).toBe(0);
    expect(server.sockets.size).toBe(0);
  });

  it('refuses a name if any of its addresses is private', async () => {
    const server = await serve((_request, response) => response.end('secret'));
    const asked: string[] = [];
    const { fetch } = guard({
      async resolve(hostname) {
        asked.push(hostname);
        return [
          { address: '93.184.216.34', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ];
      },
    });
    await expect(fetch(`http://innocent.test:${server.port}/`)).rejects.toThrow(
      'innocent.test is an address of a private or reserved network, which may not be reached.',
    );
    expect(asked).toEqual(['innocent.test']);
    expect(server.sockets.size).toBe(0);
  });

  it('connects to the address that was checked, whatever the name says next', async () => {
    const server = await serve((_request, response) => response.end('first'), '127.0.0.2');
    const answers = ['127.0.0.2', '127.0.0.1'];
    const { fetch } = guard({
      ...outside,
      resolve: async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }],
    });
    const response = await fetch(`http://rebinding.test:${server.port}/`);
    expect(await response.text()).toBe('first');
    expect(answers).toEqual(['127.0.0.1']); // asked once
  });

  it.each([
    ['address', (port: number) => `http://127.0.0.1:${port}/secret`],
    ['name', (port: number) => `http://inside.test:${port}/secret`],
    ['scheme', () => 'file:///etc/passwd'],
    ['user and password', (port: number) => `http://a:b@127.0.0.2:${port}/`],
  ])('checks the %s that a redirect leads to', async (_what, target) => {
    let secrets = 0;
    const inside = await serve((_request, response) => {
      secrets += 1;
      response.end('secret');
    });
    const server = await serve(
      (_request, response) => response.writeHead(302, { location: target(inside.port) }).end(),
      '127.0.0.2',
    );
    const { fetch } = guard({
      ...outside,
      resolve: async (name) => [{ address: name === 'inside.test' ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    });
    await expect(fetch(server.url)).rejects.toThrow(
      /private or reserved network|Only http and https|no user name or password/,
    );
    expect(secrets).toBe(0);
  });

  it('follows five redirects, and not a sixth', async () => {
    const server = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(307, { location: `/${left - 1}` }).end('on');
    }, '127.0.0.2');
    const { fetch } = guard(outside);
    const response = await fetch(`${server.url}/5`);
    expect([await response.text(), response.url]).toEqual(['there', `${server.url}/0`]);
    await expect(fetch(`${server.url}/6`)).rejects.toThrow('redirects more than 5 times');
  });

  it('keeps headers within an origin and drops them across', async () => {
    const seen: unknown[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers['x-key'], request.headers.accept);
      response.end();
    }, '127.0.0.2');
    const server = await serve((request, response) => {
      seen.push(request.headers['x-key']);
      response.writeHead(302, { location: request.url === '/' ? '/again' : other.url }).end();
    }, '127.0.0.2');
    await guard(outside).fetch(server.url, { headers: { 'x-key': 'secret', accept: 'text/plain' } });
    expect(seen).toEqual(['secret', 'secret', undefined, 'text/plain']);
  });

  it('does not follow a redirect of a POST', async () => {
    let hits = 0;
    const server = await serve((_request, response) => {
      hits += 1;
      response.writeHead(308, { location: '/again' }).end();
    }, '127.0.0.2');
    const { fetch } = guard(outside);
    await expect(fetch(server.url, { method: 'POST', body: 'x' })).rejects.toThrow('followed for GET only');
    expect(hits).toBe(1);
    expect((await fetch(server.url, { method: 'POST', redirect: 'manual' })).status).toBe(308);
  });

  it.each([
    ['ftp://example.com/', 'Only http and https URLs can be fetched, not ftp:'],
    ['not a url', '"not a url" is not a valid URL.'],
    ['http://user:pw@example.com/', 'A URL must hold no user name or password.'],
    ['http://127.0.0.2:25/', '127.0.0.2:25 cannot be reached: its port is not one for web servers.'],
    ['http://127.0.0.2:1025/', '127.0.0.2:1025 cannot be reached: it refused the connection.'],
    ['http://nowhere.invalid/', 'nowhere.invalid cannot be reached: its name is not known.'],
  ])('says what is wrong with %s', async (url, message) => {
    const resolve = async () => {
      throw Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
    };
    await expect(guard({ ...outside, resolve }).fetch(url)).rejects.toThrow(message);
  });

  it('closes the socket when the signal aborts, with the reason of the signal', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const server = await serve(() => resolve(), '127.0.0.2');
    const controller = new AbortController();
    const fetching = guard(outside).fetch(server.url, { signal: controller.signal });
    await asked;
    expect(server.sockets.size).toBe(1);
    controller.abort(new Error('enough'));
    await expect(fetching).rejects.toThrow('enough');
    await expect.poll(() => server.sockets.size, { timeout: 1_000 }).toBe(0);
  });
});
