/** An error that the provider told inside of a stream that had begun with status 200. */
export class StreamFault extends Error {
  /** As the provider sent it. */
  readonly error: unknown;

  constructor(error: unknown) {
    super('The provider told an error inside of its stream.');
    this.error = error;
  }
}
