import type { Agent, AgentSettings } from '../../domain/agent.ts';
import type { Registered } from '../../domain/registration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AgentStore, Put } from '../../ports/config-store.ts';
import type { Database } from './database.ts';
import { recordOf } from './document.ts';
import { deleteRegistration, findRegistration, listNamed, mapPage, putRegistration } from './registrations.ts';

/** Agents are registrations of which every revision is kept, since turns pin them, until the agent is deleted. */
export function createAgents(db: Database, clock: Clock): AgentStore {
  const keyOf = (tenantId: string, id: string) => ({ kind: 'agent' as const, tenantId, name: id });
  return {
    put: async (tenantId, id, settings) =>
      db.transaction(() => {
        const put = putRegistration<AgentSettings>(db, clock.now(), keyOf(tenantId, id), settings);
        return keepRevision(db, { value: agentOf(id, put.value), created: put.created });
      }),
    get: async (tenantId, id) => {
      const found = findRegistration<AgentSettings>(db, keyOf(tenantId, id));
      return found === null ? null : agentOf(id, found);
    },
    getRevision: async (tenantId, id, revision) => {
      const sql = 'SELECT doc FROM agent_revisions WHERE tenant_id = ? AND id = ? AND revision = ?';
      const row = db.get(sql, tenantId, id, revision);
      return row === undefined ? null : recordOf<Agent>(row);
    },
    list: async (tenantId, page) =>
      mapPage(listNamed<AgentSettings>(db, 'agent', tenantId, page), ({ name, registration }) =>
        agentOf(name, registration),
      ),
    delete: async (tenantId, id) =>
      db.transaction(() => {
        db.run('DELETE FROM agent_revisions WHERE tenant_id = ? AND id = ?', tenantId, id);
        return deleteRegistration(db, keyOf(tenantId, id));
      }),
  };
}

function keepRevision(db: Database, put: Put<Agent>): Put<Agent> {
  const { tenantId, id, revision } = put.value;
  db.run(
    'INSERT INTO agent_revisions (tenant_id, id, revision, doc) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ...[tenantId, id, revision, JSON.stringify(put.value)],
  );
  return put;
}

function agentOf(id: string, { value, tenantId, revision, createdAt, updatedAt }: Registered<AgentSettings>): Agent {
  return { ...value, id, tenantId, revision, createdAt, updatedAt };
}
