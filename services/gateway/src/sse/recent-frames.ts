import type { Frame } from './frame.ts';

const MAX_FRAMES = 512;
const MAX_CHARS = 256 * 1024;

/** The newest live events, within bounds: kept for clients that still read the log. */
export class RecentFrames {
  #frames: Frame[] = [];
  #chars = 0;
  #droppedId = 0;

  /** Id of the newest event that is not kept; all later ones are. */
  get droppedId(): number {
    return this.#droppedId;
  }

  get newestId(): number {
    return this.#frames.at(-1)?.id ?? this.#droppedId;
  }

  after(id: number): readonly Frame[] {
    return this.#frames.filter((frame) => frame.id > id);
  }

  keep(frame: Frame): void {
    this.#frames.push(frame);
    this.#chars += frame.text.length;
    // Down to the half, so that a long overflow does not copy the rest for each event.
    if (this.#frames.length > MAX_FRAMES || this.#chars > MAX_CHARS) this.#shrink(MAX_FRAMES / 2, MAX_CHARS / 2);
  }

  /** An event that nobody needs to be kept. */
  pass(frame: Frame): void {
    this.#droppedId = frame.id;
  }

  clear(): void {
    if (this.#frames.length > 0) this.#shrink(0, 0);
  }

  #shrink(maxFrames: number, maxChars: number): void {
    let dropped = 0;
    for (const frame of this.#frames) {
      if (this.#frames.length - dropped <= maxFrames && this.#chars <= maxChars) break;
      this.#chars -= frame.text.length;
      this.#droppedId = frame.id;
      dropped += 1;
    }
    this.#frames = this.#frames.slice(dropped);
  }
}
