import { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import type { Session } from '@turnwire/shared/domain/session';
import type { Ids } from '@turnwire/shared/ports/clock';
import type { Store } from '@turnwire/shared/ports/store';

/** The agent of a tenant that has none. */
const ASSISTANT_ID = 'assistant';
const ASSISTANT = agentSettingsSchema.parse({
  name: 'Assistant',
  systemPrompt: 'You are a helpful assistant. Answer briefly. Use your tools for what you cannot know. It is {{time}}.',
  tools: ['current_time', 'calculator', 'get_weather', 'fetch_url'],
});

const USER_ID = 'you';
const METADATA = { welcome: true };

/** Makes sure that the tenant has an agent, and answers a session that takes a turn at once. */
export async function prepareFirstTurn(store: Store, ids: Ids, tenantId: string): Promise<Session> {
  const { items: agents } = await store.agents.list(tenantId, { limit: 200, cursor: null });
  const found = agents.find(({ id }) => id === ASSISTANT_ID) ?? agents[0];
  const agentId = found?.id ?? (await store.agents.put(tenantId, ASSISTANT_ID, ASSISTANT)).value.id;
  const query = { tenantId, userId: USER_ID, state: 'IDLE', limit: 200, cursor: null } as const;
  const { items: sessions } = await store.sessions.list(query);
  const usable = sessions.find(
    (session) => session.metadata['welcome'] === true && agents.some(({ id }) => id === session.agentId),
  );
  if (usable !== undefined) return usable;
  const session = { id: ids.next('ses'), tenantId, userId: USER_ID, agentId, metadata: METADATA };
  return (await store.sessions.create(session, null)).value;
}
