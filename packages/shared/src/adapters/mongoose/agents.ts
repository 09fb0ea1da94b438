import { type Connection, type Model, Schema } from 'mongoose';
import type { Agent, AgentSettings } from '../../domain/agent.ts';
import type { Registered } from '../../domain/registration.ts';
import type { AgentStore } from '../../ports/config-store.ts';
import { registrationId, revisionId } from './record-key.ts';
import {
  deleteRegistration,
  findRegistration,
  listNamed,
  putRegistration,
  type RegistrationDocument,
  type Registrations,
  registered,
} from './registrations.ts';
import type { StoreClock } from './server-clock.ts';

interface RevisionDocument {
  _id: string;
  /** Id of the registration. */
  agent: string;
  json: string;
}

const schema = new Schema<RevisionDocument>(
  { _id: { type: String, required: true }, agent: String, json: String },
  { collection: 'agent_revisions', versionKey: false, id: false, strict: 'throw', strictQuery: 'throw' },
);
schema.index({ agent: 1 });

export type AgentRevisions = Model<RevisionDocument>;

export function agentRevisionsOf(connection: Connection): AgentRevisions {
  return connection.model<RevisionDocument, AgentRevisions>('AgentRevision', schema);
}

interface AgentsOptions {
  readonly documents: Registrations;
  readonly revisions: AgentRevisions;
  readonly clock: Pick<StoreClock, 'now'>;
}

/**
 * Agents are registrations of which every revision is kept, since turns pin them, until the agent is deleted. The
 * newest one is in the registration; it is copied to the older ones before it is replaced, so no write has two parts.
 */
export function createAgents({ documents, revisions, clock }: AgentsOptions): AgentStore {
  const keyOf = (tenantId: string, name: string) => ({ kind: 'agent' as const, tenantId, name });
  return {
    async put(tenantId, id, settings) {
      const keep = (before: RegistrationDocument) => keepRevision(revisions, before);
      const put = await putRegistration<AgentSettings>(documents, clock, keyOf(tenantId, id), settings, keep);
      return { value: agentOf(id, put.value), created: put.created };
    },
    async get(tenantId, id) {
      const found = await findRegistration<AgentSettings>(documents, keyOf(tenantId, id));
      return found === null ? null : agentOf(id, found);
    },
    getRevision: (tenantId, id, revision) => findRevision(documents, revisions, { tenantId, id, revision }),
    async list(tenantId, page) {
      const { items, nextCursor } = await listNamed<AgentSettings>(documents, 'agent', tenantId, page);
      return { items: items.map(({ name, registration }) => agentOf(name, registration)), nextCursor };
    },
    async delete(tenantId, id) {
      const deleted = await deleteRegistration(documents, keyOf(tenantId, id));
      await revisions.deleteMany({ agent: registrationId('agent', tenantId, id) });
      return deleted;
    },
  };
}

async function keepRevision(revisions: AgentRevisions, before: RegistrationDocument): Promise<void> {
  const found = registered<AgentSettings>(before);
  if (found === null) return;
  const _id = revisionId(before.tenantId, before.name, before.revision);
  const json = JSON.stringify(agentOf(before.name, found));
  await revisions.updateOne({ _id }, { $setOnInsert: { agent: before._id, json } }, { upsert: true });
}

async function findRevision(
  documents: Registrations,
  revisions: AgentRevisions,
  { tenantId, id, revision }: { readonly tenantId: string; readonly id: string; readonly revision: number },
): Promise<Agent | null> {
  const newest = await documents.findById(registrationId('agent', tenantId, id)).lean();
  const found = newest === null ? null : registered<AgentSettings>(newest);
  if (newest === null || found === null || revision < newest.firstRevision) return null;
  if (revision === newest.revision) return agentOf(id, found);
  // After the newest: one that was the newest until now is kept by now.
  const kept = await revisions.findById(revisionId(tenantId, id, revision)).lean();
  return kept === null ? null : (JSON.parse(kept.json) as Agent);
}

function agentOf(id: string, { value, tenantId, revision, createdAt, updatedAt }: Registered<AgentSettings>): Agent {
  return { ...value, id, tenantId, revision, createdAt, updatedAt };
}
