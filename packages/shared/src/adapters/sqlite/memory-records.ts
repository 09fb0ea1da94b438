import type { Memory } from '../../domain/memory.ts';
import type { Database } from './database.ts';
import { recordOf } from './document.ts';

export function insertMemory(db: Database, memory: Memory): void {
  const { tenantId, id, userId, createdAt, validTo } = memory;
  db.run(
    'INSERT INTO memories (tenant_id, id, user_id, created_at, valid_to, doc) VALUES (?, ?, ?, ?, ?, ?)',
    ...[tenantId, id, userId, createdAt, validTo, JSON.stringify(memory)],
  );
}

export function findMemory(db: Database, tenantId: string, id: string): Memory | null {
  const row = db.get('SELECT doc FROM memories WHERE tenant_id = ? AND id = ?', tenantId, id);
  return row === undefined ? null : recordOf<Memory>(row);
}

export function replaceMemory(db: Database, memory: Memory): void {
  const { tenantId, id, validTo } = memory;
  const sql = 'UPDATE memories SET valid_to = ?, doc = ? WHERE tenant_id = ? AND id = ?';
  db.run(sql, validTo, JSON.stringify(memory), tenantId, id);
}
