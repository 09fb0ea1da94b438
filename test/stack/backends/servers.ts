import { findMongo, type MongoBackend, missingMongo } from './mongodb.ts';
import { findNats, missingNats, type NatsBackend } from './nats.ts';
import { findRedis, missingRedis, type RedisBackend } from './redis.ts';

/** What one run of the distributed profile stands on. */
export interface Servers {
  readonly redis: RedisBackend;
  readonly nats: NatsBackend;
  readonly mongo: MongoBackend;
  /** The variables that lead to a part of them that nobody else uses. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Null: all three are there to start or to use. */
export function missingServers(): string | null {
  const missing = [missingRedis(), missingNats(), missingMongo()].filter((one) => one !== null);
  return missing.length === 0 ? null : missing.join('; ');
}

export async function startServers(): Promise<Servers> {
  const suite = 'the distributed profile';
  const [redis, nats, mongo] = await Promise.all([findRedis(suite), findNats(suite), findMongo(suite)]);
  if (redis === null || nats === null || mongo === null) throw new Error('A server is gone.');
  const prefix = nats.newPrefix();
  return {
    redis,
    nats,
    mongo,
    env: {
      REDIS_URL: redis.url,
      NATS_URL: nats.url,
      MONGODB_URL: databaseUrl(mongo),
      NAMESPACE: prefix,
    },
    close: async () => void (await Promise.all([redis.close(), nats.close(), mongo.close()])),
  };
}

function databaseUrl({ url, newDatabase }: MongoBackend): string {
  const address = new URL(url);
  address.pathname = `/${newDatabase()}`;
  return address.href;
}
