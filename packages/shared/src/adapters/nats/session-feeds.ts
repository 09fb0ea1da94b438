import type { SessionKey } from '../../domain/tenant.ts';
import type { EventListener, Subscription } from '../../ports/event-bus.ts';
import { type FeedDeps, SessionFeed, type Watcher } from './session-feed.ts';
import { sessionSubjects } from './subjects.ts';

/**
 * Where a message is lost, the next one shows it; where the last one is lost, nothing does. So sessions that are silent
 * are compared with the stream now and then (some 30 µs each).
 */
const SILENCE_CHECK_MS = 15_000;
/** Checks that are under way at once: more would hold up live messages, and the reads of those who come. */
const CHECKS_AT_ONCE = 16;
const RETRY_MS = 250;

/** The feeds of the sessions that have subscribers in this process; the others cost nothing. */
export class SessionFeeds {
  readonly #prefix: string;
  readonly #deps: FeedDeps;
  readonly #bySubject = new Map<string, SessionFeed>();
  readonly #stopTimer: () => void;

  constructor(prefix: string, deps: FeedDeps) {
    this.#prefix = prefix;
    this.#deps = deps;
    this.#stopTimer = deps.clock.every(SILENCE_CHECK_MS, () => {
      void this.#check([...this.#bySubject.values()].filter((feed) => feed.takeSilence()));
    });
  }

  get size(): number {
    return this.#bySubject.size;
  }

  async subscribe(key: SessionKey, listener: EventListener): Promise<Subscription> {
    const subjects = sessionSubjects(this.#prefix, key);
    const name = subjects.heard;
    const feed = this.#bySubject.get(name) ?? new SessionFeed(key, subjects, this.#deps);
    this.#bySubject.set(name, feed);
    const watcher: Watcher = { listener };
    feed.watchers.add(watcher);
    const leave = () => {
      feed.watchers.delete(watcher);
      if (feed.watchers.size > 0 || this.#bySubject.get(name) !== feed) return;
      this.#bySubject.delete(name);
      feed.close();
    };
    try {
      await feed.ready;
    } catch (error) {
      leave();
      throw error;
    }
    return { close: leave };
  }

  /** Brings all feeds to where the stream is, after something may have been lost. */
  async checkAll(): Promise<void> {
    await this.#check([...this.#bySubject.values()]);
  }

  /** The stream was lost, and another has taken its place. */
  restart(): void {
    for (const feed of this.#bySubject.values()) feed.restart();
  }

  close(): void {
    this.#stopTimer();
    for (const feed of this.#bySubject.values()) feed.close();
    this.#bySubject.clear();
  }

  async #check(feeds: readonly SessionFeed[]): Promise<void> {
    const { link, clock } = this.#deps;
    let waiting = feeds;
    // A lost connection ends this: when it stands again, all are checked.
    while (waiting.length > 0 && link.isUp && !link.closed) {
      const failed: SessionFeed[] = [];
      for (let start = 0; start < waiting.length; start += CHECKS_AT_ONCE) {
        const checks = waiting.slice(start, start + CHECKS_AT_ONCE);
        await Promise.all(checks.map((feed) => feed.check().catch(() => failed.push(feed))));
      }
      waiting = failed;
      if (failed.length > 0) await clock.sleep(RETRY_MS);
    }
  }
}
