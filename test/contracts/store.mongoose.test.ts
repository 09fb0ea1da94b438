import { afterAll, describe, vi } from 'vitest';
import { findMongo, makeMongoStore } from '../stack/backends/mongodb.ts';
import { storeContract } from './store/store-contract.ts';

// The server that is at hand for the tests takes some 10 ms for a write, and a case may have hundreds of them.
vi.setConfig({ testTimeout: 90_000 });

const mongo = await findMongo('the MongoDB store');
afterAll(() => mongo?.close());

describe.skipIf(mongo === null)('on MongoDB', () => {
  const make = () => makeMongoStore(mongo!, { transactions: false });
  storeContract('mongodb (ordered writes)', make, { longWaits: true, walks: 3 });
});
