/** In ms, before the next attempt to connect, given the attempts so far: soon, since a worker takes no jobs until then. */
export function reconnectDelay(attempts: number): number {
  return Math.min(attempts * 100, 1_000);
}
