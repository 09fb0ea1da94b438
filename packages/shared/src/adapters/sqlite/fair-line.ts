import type { FairShare } from '../../ports/job-queue.ts';

interface Place<T> {
  readonly item: T;
  readonly tag: number;
}

interface TenantLine<T> {
  places: Place<T>[];
  /** Where the first of `places` is: shifting a long array for every item is slow. */
  head: number;
  lastTag: number;
}

/** How many places that were taken may stand before those that wait. */
const MAX_TAKEN = 1_000;

/**
 * A line in which tenants take turns, each in the order of its own items: start-time fair queueing (Goyal, Vin, Cheng:
 * "Start-time Fair Queuing", SIGCOMM 1996) with items of one size. An item's tag is its tenant's last one, or where the
 * line is now if that is further, and a step that is the smaller the greater the tenant's weight; the least tag is next.
 */
export class FairLine<T> {
  readonly #lines = new Map<string, TenantLine<T>>();
  readonly #weightOf: FairShare['weightOf'];
  /** The tag of the item that was taken last. */
  #now = 0;

  constructor(weightOf: FairShare['weightOf']) {
    this.#weightOf = weightOf;
  }

  push(tenantId: string, item: T): void {
    const line = this.#lines.get(tenantId) ?? { places: [], head: 0, lastTag: 0 };
    line.lastTag = Math.max(this.#now, line.lastTag) + 1 / this.#weightOf(tenantId);
    line.places.push({ item, tag: line.lastTag });
    this.#lines.set(tenantId, line);
  }

  /** The next item that is still wanted, of a tenant that may have one. */
  take(isWanted: (item: T) => boolean, mayHave: (tenantId: string) => boolean): T | undefined {
    let next: { readonly line: TenantLine<T>; readonly place: Place<T> } | undefined;
    for (const [tenantId, line] of this.#lines) {
      const place = firstWanted(line, isWanted);
      if (place === undefined) this.#lines.delete(tenantId);
      else if (mayHave(tenantId) && (next === undefined || place.tag < next.place.tag)) next = { line, place };
    }
    if (next === undefined) return undefined;
    this.#now = next.place.tag;
    next.line.head += 1;
    return next.place.item;
  }

  /** In no order. May have some that are wanted no longer. */
  *items(): Generator<T, void, undefined> {
    for (const { places, head } of this.#lines.values()) for (const { item } of places.slice(head)) yield item;
  }
}

function firstWanted<T>(line: TenantLine<T>, isWanted: (item: T) => boolean): Place<T> | undefined {
  for (;;) {
    const place = line.places[line.head];
    if (place === undefined || isWanted(place.item)) break;
    line.head += 1;
  }
  if (line.head > MAX_TAKEN) {
    line.places = line.places.slice(line.head);
    line.head = 0;
  }
  return line.places[line.head];
}
