/** Numbers from 0 to 1 by the minimal standard generator. The order in which several callers draw them is the machine's. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
