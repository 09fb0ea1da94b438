/** Tells BullMQ that a job is to be tried again, and when. */
export class RetriedFailure extends Error {
  override readonly name = 'RetriedFailure';
  readonly delayMs: number;

  constructor(message: string, delayMs: number) {
    super(message);
    this.delayMs = delayMs;
  }
}
