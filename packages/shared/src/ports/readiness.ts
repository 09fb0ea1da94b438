interface Part {
  /** Such as `sqlite`. */
  readonly kind: string;
  /** Whether it answers. */
  readonly ok: boolean;
}

/** What a process cannot do without. */
export interface Readiness {
  readonly store: Part;
  readonly queue: Part;
  readonly bus: Part;
}

/** Never throws, and takes no longer than people wait for a page. */
export type ReadinessCheck = () => Promise<Readiness>;
