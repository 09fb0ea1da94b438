import { afterAll, describe, vi } from 'vitest';
import { findMongo, makeMongoStore } from '../stack/backends/mongodb.ts';
import { storeContract } from './store/store-contract.ts';

// A file of its own, so that it runs beside the other one.
vi.setConfig({ testTimeout: 90_000 });

const mongo = await findMongo('the MongoDB store with transactions');
afterAll(() => mongo?.close());

describe.skipIf(mongo === null)('on MongoDB', () => {
  const make = () => makeMongoStore(mongo!, { transactions: true });
  storeContract('mongodb (transactions)', make, { longWaits: true, walks: 3 });
});
