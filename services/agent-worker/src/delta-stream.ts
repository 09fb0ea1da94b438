import type { Hold } from './hold.ts';
import type { EngineResult, Piece } from './react/engine.ts';
import type { TurnState } from './turn-state.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/** Shows the engine's pieces to clients as they come. */
export interface DeltaStream {
  /** Reads the engine to its end. */
  drain(run: AsyncGenerator<Piece, EngineResult>): Promise<EngineResult>;
  /** What clients were shown of the step in progress; empty when it is stored already. */
  readonly text: string;
}

export function createDeltaStream({ clock, metrics }: WorkerDependencies, hold: Hold, state: TurnState): DeltaStream {
  const { id: turnId, createdAt, steps } = state.turn;
  let step = steps + 1;
  let text = '';
  let awaitsFirst = steps === 0;

  function show(piece: Piece): void {
    const ts = clock.now();
    hold.journal.emit({ ...piece, turnId, ts });
    switch (piece.type) {
      case 'step.started':
        step = piece.data.step;
        text = '';
        return;
      case 'turn.reset':
        text = '';
        return;
      case 'turn.delta':
        text += piece.data.text;
        if (awaitsFirst) metrics.firstToken((ts - createdAt) / 1000);
        awaitsFirst = false;
        return;
      case 'reasoning.delta':
        return;
    }
  }

  return {
    async drain(run) {
      for (;;) {
        const next = await run.next();
        if (next.done === true) return next.value;
        show(next.value);
      }
    },
    get text() {
      return step > state.turn.steps ? text : '';
    },
  };
}
