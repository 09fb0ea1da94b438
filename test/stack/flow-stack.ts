import type { ModelHandler } from '@turnwire/demo-model/model-handler';
import type { RecordedRequest } from '@turnwire/demo-model/recording';
import { type ModelServer, startModelServer } from '@turnwire/demo-model/server';
import { afterAll, beforeAll, expect } from 'vitest';
import type { AgentInput, Api, ToolInput, TurnInput } from './api.ts';
import { checkInvariants } from './check-invariants.ts';
import type { EventStream } from './event-stream.ts';
import type { Profile } from './profiles.ts';
import { startToolServer, type ToolBehaviour, type ToolRun, type ToolServer } from './tool-server.ts';
import type { Turnwire, TurnwireOptions } from './turnwire.ts';

/** An agent with a model of its own, and a session of it. */
export interface Scene {
  readonly agentId: string;
  readonly model: string;
  readonly sessionId: string;
  /** What the model was sent, extractions of memories left out. */
  readonly requests: readonly RecordedRequest[];
  /** Posts a turn and follows it. */
  say(input: string | TurnInput, headers?: Readonly<Record<string, string>>): Promise<EventStream>;
  /** The same, to the end of the stream. */
  ask(input: string | TurnInput): Promise<EventStream>;
}

export interface SceneOptions {
  readonly userId?: string;
  readonly api?: Api;
}

/** The product, a scripted model and counting tools, for all tests of a file. */
export interface FlowStack {
  readonly turnwire: Turnwire;
  readonly api: Api;
  readonly model: ModelServer;
  readonly tools: ToolServer;
  /** Registers a tool with a name of its own; answers the name. */
  tool(behaviour: ToolBehaviour, registration?: Partial<ToolInput>): Promise<string>;
  runsOf(tool: string): readonly ToolRun[];
  scene(handler: ModelHandler, settings?: AgentInput, options?: SceneOptions): Promise<Scene>;
}

/**
 * Starts everything before the tests of a suite, and after them checks the invariants over all that they did. Memories
 * are off unless a scene turns them on: they would only add requests.
 */
export function useStack(profile: Profile, options: Partial<TurnwireOptions> = {}): FlowStack {
  let turnwire: Turnwire;
  let model: ModelServer;
  let tools: ToolServer;
  let scenes = 0;
  const idempotentTools = new Set<string>();

  beforeAll(async () => {
    // Its 400 for a conversation that is not valid would be one more way to fail in the middle; the record tells as much.
    [model, tools] = await Promise.all([startModelServer(), startToolServer()]);
    turnwire = await profile.start({ modelUrl: model.url, ...options });
  });
  afterAll(async () => {
    try {
      const { requests } = model;
      const found = await checkInvariants({ turnwire, requests, toolRuns: tools.runs, idempotentTools });
      expect(found).toEqual([]);
    } finally {
      await turnwire.close();
      await Promise.all([model.close(), tools.close()]);
    }
  });

  return {
    get turnwire() {
      return turnwire;
    },
    get api() {
      return turnwire.api;
    },
    get model() {
      return model;
    },
    get tools() {
      return tools;
    },
    runsOf: (tool) => tools.runsOf(tool),
    async tool(behaviour, registration = {}) {
      const { name, url } = tools.define(behaviour);
      await turnwire.api.putTool(name, { url, ...registration });
      if (registration.idempotent === true) idempotentTools.add(name);
      return name;
    },
    async scene(handler, settings = {}, { userId = 'ada', api = turnwire.api } = {}) {
      scenes += 1;
      const name = `scene-${scenes}`;
      model.setHandler(name, handler);
      const defaults: AgentInput = { model: { name }, memory: { recall: false, extract: false } };
      await api.putAgent(name, { ...defaults, ...settings, model: { name, ...settings.model } });
      const { id: sessionId } = await api.createSession({ agentId: name, userId });
      return createScene(turnwire, model, { name, sessionId });
    },
  };
}

function createScene(
  turnwire: Turnwire,
  model: ModelServer,
  { name, sessionId }: { readonly name: string; readonly sessionId: string },
): Scene {
  const say: Scene['say'] = (input, headers) =>
    turnwire.streamTurn(sessionId, typeof input === 'string' ? { text: input } : input, headers);
  return {
    agentId: name,
    model: name,
    sessionId,
    get requests() {
      return model.requests.filter((request) => request.model === name && request.body.response_format === undefined);
    },
    say,
    ask: async (input) => (await say(input)).over(),
  };
}
