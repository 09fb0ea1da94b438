import { z } from 'zod';

/** The answer of a deletion, for the API description. */
export const noContent = z.undefined().describe('It is gone');
