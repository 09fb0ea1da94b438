import { playStep } from '@turnwire/demo-model/script';
import { expect } from 'vitest';
import { pieces } from './answers.ts';
import { type FlowStack, type Scene, useStack } from './flow-stack.ts';
import type { Follower } from './follower.ts';
import { type Deployment, startDistributed } from './start-distributed.ts';

/** As {@link useStack}, with the deployment at hand. */
export function useDeployment(env: Readonly<Record<string, string>>) {
  let deployment: Deployment | undefined;
  const stack = useStack(
    {
      name: 'distributed',
      agentWorkers: 2,
      recoversAtStart: false,
      start: async (options) => {
        deployment = await startDistributed(options);
        return deployment;
      },
    },
    { env },
  );
  return {
    stack,
    deployment(): Deployment {
      if (deployment === undefined) throw new Error('It has not been started yet.');
      return deployment;
    },
  };
}

export interface Followed {
  readonly scene: Scene;
  readonly follower: Follower;
  readonly turnId: string;
}

/** Turns that are all in the middle of their answers. */
export async function startTalking(stack: FlowStack, count: number, pieceCount = 100): Promise<readonly Followed[]> {
  const started = await Promise.all(
    Array.from({ length: count }, async () => {
      const scene = await stack.scene(playStep(pieces(pieceCount, 25)));
      const follower = stack.turnwire.follow(scene.sessionId);
      const { id: turnId } = await stack.api.postTurn(scene.sessionId, { text: 'Count.' });
      return { scene, follower, turnId };
    }),
  );
  await Promise.all(started.map(({ follower }) => follower.until(({ type }) => type === 'turn.delta', 3)));
  return started;
}

/** They all came to their whole answers, and their followers saw it. Answers how many attempts each took. */
export async function expectAnswers(
  stack: FlowStack,
  talking: readonly Followed[],
  pieceCount = 100,
): Promise<number[]> {
  const turns = await Promise.all(talking.map(({ turnId }) => stack.api.ended(turnId, 30_000)));
  expect(new Set(turns.map(({ status }) => status))).toEqual(new Set(['COMPLETED']));
  for (const { scene, follower } of talking) {
    await follower.until(({ type }) => type === 'done', 1, 30_000);
    follower.close();
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.at(-1)?.content).toBe(pieces(pieceCount, 0).text.join(''));
  }
  return turns.map(({ attempt }) => attempt);
}
