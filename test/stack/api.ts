import type { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import { agentSchema } from '@turnwire/shared/contracts/http-agents';
import { memorySchema, type postMemorySchema } from '@turnwire/shared/contracts/http-memories';
import { messageSchema } from '@turnwire/shared/contracts/http-messages';
import { pageSchema } from '@turnwire/shared/contracts/http-page';
import type { resumeSchema } from '@turnwire/shared/contracts/http-resume';
import { type createSessionSchema, sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { type putToolSchema, toolSchema } from '@turnwire/shared/contracts/http-tools';
import { type postTurnSchema, turnSchema } from '@turnwire/shared/contracts/http-turns';
import { eventually } from './eventually.ts';

/** What a schema takes. */
type Input<S extends { readonly _zod: { readonly input: unknown } }> = S['_zod']['input'];

export type AgentInput = Input<typeof agentSettingsSchema>;
export type ToolInput = Input<typeof putToolSchema>;
export type TurnInput = Input<typeof postTurnSchema>;
export type ResumeInput = Input<typeof resumeSchema>;
export type SessionView = ReturnType<typeof sessionSchema.parse>;
export type TurnView = ReturnType<typeof turnSchema.parse>;
export type MessageView = ReturnType<typeof messageSchema.parse>;
export type MemoryView = ReturnType<typeof memorySchema.parse>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** Any call. Never refuses a status: what it means is the caller's to say. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

/** What was accepted through a client, for the invariants. */
export interface Accepted {
  readonly sessions: Set<string>;
  /** Session by turn. */
  readonly turns: Map<string, string>;
}

const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'];
const SETTLED = [...ENDED, 'WAITING'];

export type Api = ReturnType<typeof createApi>;

/** The calls of the API; each throws unless it succeeds, and checks the answer against the published schema. */
export function createApi(call: Call, accepted: Accepted) {
  async function expectStatus(statuses: readonly number[], ...request: Parameters<Call>): Promise<Answer> {
    const answer = await call(...request);
    if (statuses.includes(answer.status)) return answer;
    const [method, path] = request;
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  async function turn(id: string): Promise<TurnView> {
    return turnSchema.parse((await expectStatus([200], 'GET', `/v1/turns/${id}`)).body);
  }

  async function session(id: string): Promise<SessionView> {
    return sessionSchema.parse((await expectStatus([200], 'GET', `/v1/sessions/${id}`)).body);
  }

  return {
    ...configuration(expectStatus),
    ...memoryCalls(expectStatus),
    call,
    turn,
    session,
    async createSession(input: Input<typeof createSessionSchema>, headers?: Record<string, string>) {
      const { body } = await expectStatus([201], 'POST', '/v1/sessions', input, headers);
      accepted.sessions.add(body.id);
      return sessionSchema.parse(body);
    },
    async deleteSession(id: string): Promise<void> {
      await expectStatus([204], 'DELETE', `/v1/sessions/${id}`);
      accepted.sessions.delete(id);
      for (const [turnId, sessionId] of accepted.turns) if (sessionId === id) accepted.turns.delete(turnId);
    },
    async postTurn(sessionId: string, input: TurnInput, headers?: Record<string, string>): Promise<TurnView> {
      const { body } = await expectStatus([202], 'POST', `/v1/sessions/${sessionId}/turns`, input, headers);
      accepted.turns.set(body.id, sessionId);
      return turnSchema.parse(body);
    },
    resume(sessionId: string, body?: ResumeInput, headers?: Record<string, string>): Promise<Answer> {
      return call('POST', `/v1/sessions/${sessionId}/resume`, body, headers);
    },
    async cancelSession(id: string): Promise<SessionView> {
      return sessionSchema.parse((await expectStatus([202], 'POST', `/v1/sessions/${id}/cancel`)).body);
    },
    async cancelTurn(id: string): Promise<TurnView> {
      return turnSchema.parse((await expectStatus([202], 'POST', `/v1/turns/${id}/cancel`)).body);
    },
    /** All of them, oldest first. */
    async messages(sessionId: string): Promise<readonly MessageView[]> {
      const found: MessageView[] = [];
      for (let cursor = ''; ; ) {
        const { body } = await expectStatus([200], 'GET', `/v1/sessions/${sessionId}/messages?limit=200${cursor}`);
        const page = pageSchema(messageSchema).parse(body);
        found.push(...page.items);
        if (page.nextCursor === null) return found;
        cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
      }
    },
    /** The turn, as soon as it has ended or waits for a person. */
    settled: (id: string, timeoutMs = 30_000) => until(() => turn(id), SETTLED, timeoutMs),
    ended: (id: string, timeoutMs = 30_000) => until(() => turn(id), ENDED, timeoutMs),
    /** The session, as soon as it has this state. */
    reaches: (id: string, state: SessionView['state'], timeoutMs = 30_000) =>
      until(() => session(id), [state], timeoutMs),
  };
}

type ExpectStatus = (statuses: readonly number[], ...request: Parameters<Call>) => Promise<Answer>;

function configuration(expectStatus: ExpectStatus) {
  return {
    async putAgent(id: string, settings: AgentInput) {
      return agentSchema.parse((await expectStatus([200, 201], 'PUT', `/v1/agents/${id}`, settings)).body);
    },
    async deleteAgent(id: string): Promise<void> {
      await expectStatus([204], 'DELETE', `/v1/agents/${id}`);
    },
    async putTool(name: string, tool: ToolInput) {
      return toolSchema.parse((await expectStatus([200, 201], 'PUT', `/v1/tools/${name}`, tool)).body);
    },
    async deleteTool(name: string): Promise<void> {
      await expectStatus([204], 'DELETE', `/v1/tools/${name}`);
    },
  };
}

function memoryCalls(expectStatus: ExpectStatus) {
  return {
    async memories(userId: string): Promise<readonly MemoryView[]> {
      const path = `/v1/memories?userId=${encodeURIComponent(userId)}&limit=200`;
      return pageSchema(memorySchema).parse((await expectStatus([200], 'GET', path)).body).items;
    },
    async addMemory(input: Input<typeof postMemorySchema>, headers?: Record<string, string>): Promise<MemoryView> {
      return memorySchema.parse((await expectStatus([201], 'POST', '/v1/memories', input, headers)).body);
    },
    async deleteMemory(id: string): Promise<void> {
      await expectStatus([204], 'DELETE', `/v1/memories/${id}`);
    },
  };
}

async function until<T extends { readonly status: string } | { readonly state: string }>(
  look: () => Promise<T>,
  wanted: readonly string[],
  timeoutMs: number,
): Promise<T> {
  return eventually(async () => {
    const found = await look();
    const state = 'status' in found ? found.status : found.state;
    if (wanted.includes(state)) return found;
    throw new Error(`It is ${state}, not ${wanted.join(' or ')}: ${JSON.stringify(found)}`);
  }, timeoutMs);
}
