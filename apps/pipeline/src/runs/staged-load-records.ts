import { commitWithoutFlush, prepared } from '@sluice/database'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { Claim } from './claim-run.ts'
import { underWay } from './run-states.ts'

/**
 * A record that an attempt stores when all its rows are staged, so that a later attempt can publish them without
 * reading the source again.
 */
export interface StagedLoads {
  /** The attempt that staged the rows. */
  attempt: number
  /**
   * A digest of everything that determines which rows the source returns. A later attempt uses the staged rows only if
   * it is the same.
   */
  digest: string
  /** JSON in the format that `StagedRun` defines. */
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
 * Stores, or replaces, the record of the rows that an attempt has staged. Returns false, and stores nothing, if the
 * attempt has lost its lease. The lock on the run ensures that no record is written after a later attempt has looked
 * for it.
 */
export async function storeStagedLoads(
  db: Kysely<DB>,
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  { digest, state }: Omit<StagedLoads, 'attempt'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    ${prepared('keep-staged-loads')}
    with leased_run as (
      select id, ${commitWithoutFlush} from runs
      where id = ${id} and attempt = ${attempt} and state = 'RUNNING' for share)
    insert into staged_loads (run_id, attempt, digest, state)
    select id, ${attempt}, ${digest}, ${JSON.stringify(state)}::json from leased_run
    on conflict (run_id) do update set attempt = excluded.attempt, digest = excluded.digest, state = excluded.state
  `.execute(db)
  return numAffectedRows === 1n
}

/** Deletes the records of earlier attempts. Called before an attempt reads the source again. */
export async function deleteStagedLoads(db: Kysely<DB>, { id, attempt }: Pick<Claim, 'id' | 'attempt'>): Promise<void> {
  await db.deleteFrom('staged_loads').where('run_id', '=', id).where('attempt', '<', attempt).execute()
}

export async function deleteStagedLoadsOfEndedRuns(db: Kysely<DB>): Promise<void> {
  await db
    .deleteFrom('staged_loads as s')
    .using('runs as r')
    .whereRef('r.id', '=', 's.run_id')
    .where('r.state', 'not in', [...underWay])
    .execute()
}
