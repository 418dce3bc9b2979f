import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { Claim } from './claim.ts'
import { underWay } from './states.ts'

/** What an attempt of a run keeps once all its rows are in the warehouse, so that a later attempt can publish them. */
export interface StagedLoads {
  /** The attempt that wrote the rows. */
  attempt: number
  /** A digest of everything that decides which rows the source gives. */
  digest: string
  /** JSON. */
  state: unknown
}

export async function findStagedLoads(db: Kysely<DB>, { id }: Pick<Claim, 'id'>): Promise<StagedLoads | undefined> {
  return db
    .selectFrom('staged_loads')
    .select(['attempt', 'digest', 'state'])
    .where('run_id', '=', id)
    .executeTakeFirst()
}

/**
 * Returns false, and stores nothing, if a later attempt has the run. The lock on the run makes a later attempt find
 * either this row or none for good.
 */
export async function keepStagedLoads(
  db: Kysely<DB>,
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  { digest, state }: Omit<StagedLoads, 'attempt'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with run as (select id from runs where id = ${id} and attempt = ${attempt} and state = 'RUNNING' for share)
    insert into staged_loads (run_id, attempt, digest, state)
    select id, ${attempt}, ${digest}, ${JSON.stringify(state)}::json from run
    on conflict (run_id) do update set attempt = excluded.attempt, digest = excluded.digest, state = excluded.state
  `.execute(db)
  return numAffectedRows === 1n
}

/** For an attempt that reads the source again. */
export async function forgetStagedLoads(db: Kysely<DB>, { id, attempt }: Pick<Claim, 'id' | 'attempt'>): Promise<void> {
  await db.deleteFrom('staged_loads').where('run_id', '=', id).where('attempt', '<', attempt).execute()
}

export async function forgetStagedLoadsOfEndedRuns(db: Kysely<DB>): Promise<void> {
  await db
    .deleteFrom('staged_loads as s')
    .using('runs as r')
    .whereRef('r.id', '=', 's.run_id')
    .where('r.state', 'not in', [...underWay])
    .execute()
}
