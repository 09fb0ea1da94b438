import { makeSqliteStore } from '@turnwire/shared/testing/sqlite-store';
import { storeContract } from './store/store-contract.ts';

storeContract('sqlite', makeSqliteStore, { longWaits: true, walks: 60 });
