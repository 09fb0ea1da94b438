import { type AnswerPlan, planAnswer } from './demo/plan-answer.ts';
import { splitPieces } from './demo/split-pieces.ts';
import type { ModelHandler } from './model-handler.ts';
import type { Reply } from './reply.ts';
import { type ModelServer, startModelServer } from './server.ts';

/** Milliseconds from one piece (a word, or two CJK characters) to the next: about a fast reader's pace. */
export const DEMO_PACE_MS = 25;

/** The name under which the demo model lists itself; it answers to any other as well. */
export const DEMO_MODEL_NAME = 'turnwire-demo';

export type DemoModelOptions = {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free one. */
  port?: number;
  /** Milliseconds between pieces; 0 sends at once. Default `DEMO_PACE_MS`. */
  pace?: number;
};

/** The demo model as a handler for any model name; `paceMs` are milliseconds between pieces, 0 sends at once. */
export function createDemoHandler(paceMs: number): ModelHandler {
  // A whole answer is not watched while it grows, so it is not paced.
  return ({ body }, reply) => speak(planAnswer(body), reply, body.stream === true ? paceMs : 0);
}

/** Starts the demo model on its own server, which keeps no requests. Rejects if it cannot listen. */
export function startDemoModel(options: DemoModelOptions = {}): Promise<ModelServer> {
  const { pace = DEMO_PACE_MS, ...address } = options;
  const models = [DEMO_MODEL_NAME];
  return startModelServer({ ...address, models, fallback: createDemoHandler(pace), keepRequests: 0 });
}

async function speak(plan: AnswerPlan, reply: Reply, paceMs: number): Promise<void> {
  switch (plan.kind) {
    case 'call':
      for (const call of plan.calls) await reply.toolCall(call);
      return;
    case 'json':
      return reply.text(JSON.stringify(plan.value));
    case 'say':
      for (const [index, piece] of splitPieces(plan.text).entries()) {
        if (index > 0 && paceMs > 0) await reply.delay(paceMs);
        await reply.text(piece);
      }
  }
}
