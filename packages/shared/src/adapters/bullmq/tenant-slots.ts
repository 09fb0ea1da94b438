import type { Clock } from '../../ports/clock.ts';

/** What the slots need of the connection and the queue. */
export interface SlotsOptions {
  readonly maxRunning: number;
  readonly clock: Clock;
  toKey(name: string): string;
  run(
    script: 'turnwireTakeSlot' | 'turnwireFreeSlot' | 'turnwireRenewSlots',
    args: (string | number)[],
  ): Promise<unknown>;
  /** Lets a delayed job wait for no longer. */
  promote(id: string): Promise<void>;
}

/** A slot whose holder has died is free after this. */
const SLOT_MS = 15_000;
const RENEW_MS = 5_000;

/**
 * Slots of tenants for running jobs, over all processes. A job that finds none is parked: delayed for long, and noted for
 * its tenant, in the order in which they would have started; whoever frees a slot brings the next one forward. A note or
 * a promotion that gets lost costs time, and no job: the sweeper enqueues again what is due, which ends the delay.
 */
export class TenantSlots {
  readonly #options: SlotsOptions;
  /** Tenant by job, of those that run here. */
  readonly #held = new Map<string, string>();
  readonly #stopRenewing: () => void;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#stopRenewing = options.clock.every(RENEW_MS, () => void this.#renew());
  }

  /** False: the tenant has none left. Without Redis nobody is refused. */
  async take(tenantId: string, jobId: string): Promise<boolean> {
    const { maxRunning, clock } = this.#options;
    const now = clock.now();
    const args = [...this.#keys(tenantId), now, now + SLOT_MS, jobId, maxRunning];
    const isTaken = (await this.#options.run('turnwireTakeSlot', args).catch(() => 1)) !== 0;
    if (isTaken) this.#held.set(jobId, tenantId);
    return isTaken;
  }

  /** After the job has ended. */
  async free(tenantId: string, jobId: string): Promise<void> {
    this.#held.delete(jobId);
    await this.#giveOn(tenantId, jobId, []);
  }

  /** After the job was delayed, and not before: else it could be brought forward too early, and then never. */
  async park(tenantId: string, jobId: string, order: number): Promise<void> {
    await this.#giveOn(tenantId, jobId, [order]);
  }

  close(): void {
    this.#stopRenewing();
  }

  async #giveOn(tenantId: string, jobId: string, order: number[]): Promise<void> {
    const { maxRunning, clock } = this.#options;
    try {
      const args = [...this.#keys(tenantId), clock.now(), jobId, maxRunning, ...order];
      const next = await this.#options.run('turnwireFreeSlot', args);
      if (typeof next === 'string') await this.#options.promote(next);
    } catch {
      // Redis is away: slots run out by themselves, and the sweeper brings back what is parked.
    }
  }

  async #renew(): Promise<void> {
    const expiry = this.#options.clock.now() + SLOT_MS;
    for (const [tenantId, jobs] of Map.groupBy(this.#held.keys(), (jobId) => this.#held.get(jobId) ?? '')) {
      await this.#options.run('turnwireRenewSlots', [...this.#keys(tenantId), expiry, ...jobs]).catch(() => undefined);
    }
  }

  #keys(tenantId: string): [string, string] {
    const { toKey } = this.#options;
    return [toKey(`running:${encodeURIComponent(tenantId)}`), toKey(`parked:${encodeURIComponent(tenantId)}`)];
  }
}
