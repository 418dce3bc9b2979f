import type { TableProfile } from '@sluice/contracts'
import { Problem } from '@sluice/http-server'
import type { WarehouseTable } from '@sluice/warehouses/warehouse'
import { findProfile } from './stored-profiles.ts'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'

/**
 * Reads the profile of a table. The caller must be allowed to read its rows. Throws 404 if the table has no profile.
 */
export async function readTableProfile(db: Kysely<DB>, client: string, table: WarehouseTable): Promise<TableProfile> {
  const profile = table.profile && (await findProfile(db, client, table))
  if (!profile) throw await createMissingProfileProblem(db, client, table)
  const { run, measuredAt, rows, columns } = profile
  return {
    schema: table.schema,
    name: table.name,
    scope: table.profile!.scope,
    rows,
    measured: measuredAt.toISOString(),
    taskId: run,
    columns: columns.map(({ column, nulls, distinct, isEstimate = false, min, max, ...measures }) => ({
      name: column,
      nullValues: nulls,
      distinctValues: distinct,
      distinctIsEstimate: isEstimate,
      minValue: min,
      maxValue: max,
      ...measures,
    })),
  }
}

/** Returns the problem that explains why a table has no profile. */
async function createMissingProfileProblem(
  db: Kysely<DB>,
  client: string,
  { schema }: WarehouseTable,
): Promise<Problem> {
  const row = await db
    .selectFrom('schemas')
    .select('profile_tables')
    .where('client', '=', client)
    .where('schema_name', '=', schema)
    .executeTakeFirst()
  return new Problem(404, 'not-found', 'Not found.', {
    detail:
      row?.profile_tables === false
        ? 'The table has no profile, because its schema does not measure profiles. Set profileTables of the schema to true, and run the pipeline.'
        : 'The table has no profile: its last load measured none, changed the rows by SQL statements afterwards, or merged records that the source marks as deleted. Run a full load without SQL statements to measure one.',
  })
}
