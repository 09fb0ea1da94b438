import type { NodeConnectionOptions } from '@nats-io/transport-node';

/**
 * Reads `NATS_URL`: one address or several of a cluster, separated by commas, such as `nats://user:password@host:4222`.
 * A user without a password is a token. `tls://` insists on TLS; a server that offers it is spoken to with TLS anyway.
 */
export function readServerAddress(
  url: string,
): Pick<NodeConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'tls'> {
  const addresses = url.split(',').map(parseAddress);
  const named = addresses.find(({ username }) => username !== '');
  const user = decodeURIComponent(named?.username ?? '');
  const pass = decodeURIComponent(named?.password ?? '');
  return {
    servers: addresses.map(({ hostname, port }) => `${hostname}:${port === '' ? 4222 : port}`),
    ...(addresses.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    ...(user !== '' && (pass === '' ? { token: user } : { user, pass })),
  };
}

function parseAddress(text: string): URL {
  const address = text.trim();
  try {
    return new URL(address.includes('://') ? address : `nats://${address}`);
  } catch {
    // The address is not shown: it may hold a password.
    throw new Error('The address of the NATS server is none: it has to look like nats://host:4222.');
  }
}
