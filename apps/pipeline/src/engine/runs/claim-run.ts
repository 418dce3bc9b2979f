import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Claim, SqlStatement } from './claim.ts'
import { before } from './states.ts'

/**
 * Takes a run into hand: a new attempt, RUNNING. Undefined for a run that is finished, cancelled or gone. A run that
 * another worker has in hand is taken over: the queue delivers it only when that worker is silent.
 */
export async function claimRun(db: Kysely<DB>, uid: string): Promise<Claim | undefined> {
  const row = await db
    .updateTable('runs as r')
    .from('data_pipelines as p')
    .innerJoin('schemas as s', 's.id', 'p.schema_id')
    .set((eb) => ({
      state: 'RUNNING',
      attempt: eb('r.attempt', '+', 1),
      started_at: sql`now()`,
      heartbeat_at: sql`now()`,
      rows_per_second: null,
      bytes_per_second: null,
      estimated_end: null,
      message: null,
      error_code: null,
    }))
    .whereRef('p.id', '=', 'r.pipeline_id')
    .where('r.uid', '=', uid)
    .where('r.state', 'in', before('RUNNING'))
    .returning([
      'r.id',
      'r.uid',
      'r.client',
      'r.created_at',
      'r.attempt',
      'r.handed_back',
      'r.input',
      'r.rows_rejected',
    ])
    .returning(['p.id as pipeline_id', 'p.uid as pipeline_uid', 'p.name', 'p.type', 'p.settings'])
    .returning(['p.source_secrets', 'p.transformation'])
    .returning(['p.table_name', 's.schema_name'])
    .executeTakeFirst()
  if (!row) return undefined

  return {
    id: row.id,
    uid: row.uid,
    client: row.client,
    requestedAt: row.created_at,
    attempt: row.attempt,
    tries: row.attempt - row.handed_back,
    input: row.input,
    rowsRejected: row.rows_rejected,
    pipeline: {
      id: row.pipeline_id,
      uid: row.pipeline_uid,
      name: row.name,
      type: row.type,
      settings: row.settings,
      source_secrets: row.source_secrets,
      sqlStatements: statementsOf(row.transformation),
      schema: row.schema_name,
      table: row.table_name,
    },
  }
}

function statementsOf(transformation: unknown): SqlStatement[] {
  return (transformation as { sqlStatements?: SqlStatement[] }).sqlStatements ?? []
}
