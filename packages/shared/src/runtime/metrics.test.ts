import { describe, expect, test } from 'vitest';
import { createMetrics } from './metrics.ts';

const noJobs = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 };

describe('the metrics', () => {
  test('carry what was counted, under the names of the port', async () => {
    const metrics = createMetrics({ counts: async () => noJobs });
    metrics.turnEnded('COMPLETED');
    metrics.turnEnded('COMPLETED');
    metrics.activeTurns(1);
    metrics.activeTurns(1);
    metrics.activeTurns(-1);
    metrics.firstToken(0.2);
    metrics.tokens('input', 12);
    metrics.tokens('output', 0);
    metrics.eventsWritten('turn.delta', 40);
    metrics.sseClients(1);
    metrics.sseDropped();
    metrics.extractionEnded('failed');
    metrics.memoryRefused('no_quote');
    metrics.toolCallSettled('done');
    const lines = (await metrics.text()).split('\n');
    for (const line of [
      'turnwire_turns_total{status="COMPLETED"} 2',
      'turnwire_active_turns 1',
      'turnwire_time_to_first_token_seconds_bucket{le="0.1"} 0',
      'turnwire_time_to_first_token_seconds_bucket{le="0.25"} 1',
      'turnwire_tokens_total{direction="input"} 12',
      'turnwire_events_total{type="turn.delta"} 40',
      'turnwire_sse_clients 1',
      'turnwire_sse_dropped_total 1',
      'turnwire_extractions_total{outcome="failed"} 1',
      'turnwire_memories_refused_total{reason="no_quote"} 1',
      'turnwire_tool_calls_total{state="done"} 1',
    ]) {
      expect(lines).toContain(line);
    }
    expect(metrics.contentType).toContain('text/plain');
  });

  test('tell the depth of the queue as of each scrape, and of the process', async () => {
    let waiting = 3;
    const metrics = createMetrics({ counts: async (kind) => (kind === 'turn' ? { ...noJobs, waiting } : noJobs) });
    expect(await metrics.text()).toContain('turnwire_queue_jobs{kind="turn",state="waiting"} 3');
    waiting = 1;
    expect(await metrics.text()).toContain('turnwire_queue_jobs{kind="turn",state="waiting"} 1');
    expect(await metrics.text()).toMatch(/^process_resident_memory_bytes \d/m);
  });

  test('are served without the queue where it is away', async () => {
    const metrics = createMetrics({ counts: () => Promise.reject(new Error('away')) });
    metrics.sseDropped();
    const text = await metrics.text();
    expect(text).toContain('turnwire_sse_dropped_total 1');
    expect(text).not.toContain('turnwire_queue_jobs{');
  });

  test('of two servers in one process are apart', async () => {
    const [one, other] = [createMetrics({ counts: async () => noJobs }), createMetrics({ counts: async () => noJobs })];
    one.sseDropped();
    expect(await other.text()).toContain('turnwire_sse_dropped_total 0');
  });
});
