/**
 * Keeps characters together that a stream splits: half of a surrogate pair waits for the other half, since alone it
 * would become a replacement character on its way to the client.
 */
export class WholeCharacters {
  #half = '';

  push(text: string): string {
    const whole = this.#half + text;
    this.#half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? '';
    return this.#half === '' ? whole : whole.slice(0, -1);
  }

  /** What is left: nothing, or a half that never got the other one. */
  end(): string {
    const half = this.#half;
    this.#half = '';
    return half;
  }
}
