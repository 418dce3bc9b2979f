import { createHash } from 'node:crypto'
import { type ClientBase, type Pool, escapeIdentifier, escapeLiteral } from 'pg'
import { withClient } from './postgres-connections.ts'
import { qualifyName } from './sql-identifiers.ts'
import { sqlStateOf, sqlStates } from './server/sql-states.ts'

/**
 * The JSON in the comment of a staging table. It names the run, so that maintenance and operators know who created the
 * table.
 */
export interface StagingComment {
  run: string
  attempt: number
  schema: string
  table: string
  /** True once published rows were copied to the staging table, which will replace the published table. */
  merged?: true
}

/** Returns the fields of the argument that belong in the comment. The argument may have further fields. */
export function toStagingComment({ run, attempt, schema, table, merged }: StagingComment): StagingComment {
  return { run, attempt, schema, table, ...(merged && { merged }) }
}

/**
 * Parses the comment of a staging table. Returns undefined for a comment that is not a JSON object. Users can write
 * comments too, so any field may be missing.
 */
export function parseStagingComment(comment: string | null | undefined): Partial<StagingComment> | undefined {
  try {
    const parsed: unknown = JSON.parse(comment ?? 'null')
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Returns the statement that writes the comment of a staging table. */
export const commentOnStaging = (staging: string, content: StagingComment): string =>
  `comment on table ${qualifyName('sluice', staging)} is ${escapeLiteral(JSON.stringify(toStagingComment(content)))}`

export interface StagingColumn {
  name: string
  label: string
  type: string
}

/**
 * Returns the name of a staging table, such as `run_<run>_1_0123456789ab`. It has at most 63 bytes and is always the
 * same for one load. It starts with the run and the attempt, for operators to read. `staging` numbers the staging
 * tables of one load.
 */
export function stagingName({
  run,
  attempt,
  schema,
  table,
  staging = 1,
}: StagingComment & { staging?: number }): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, attempt, schema, table, staging]))
    .digest('hex')
    .slice(0, 12)
  return `run_${run.replaceAll(/[^A-Za-z0-9-]/g, '').slice(0, 36)}_${attempt}_${hash}`.slice(0, 63)
}

/**
 * Creates a staging table with comments. The statements are one message, so they are one transaction. Its commit does
 * not wait for the disk, because a crash of the server ends the attempt.
 */
export async function createStaging(
  client: ClientBase,
  name: string,
  comment: StagingComment,
  columns: readonly StagingColumn[],
): Promise<void> {
  const staging = qualifyName('sluice', name)
  await client.query(
    [
      'set local synchronous_commit = off',
      // Disables autovacuum until the publication: it would analyse the table during the load and lock it afterwards.
      `create table ${staging} (${columnList(columns)}) with (autovacuum_enabled = off)`,
      commentOnStaging(name, comment),
      ...columnComments(staging, columns),
    ].join(';'),
  )
}

/** Returns the column definitions of a CREATE TABLE or ADD COLUMN, such as `"id" bigint, "name" text`. */
export function columnList(columns: readonly { name: string; type: string }[]): string {
  return columns.map(({ name, type }) => `${escapeIdentifier(name)} ${type}`).join(', ')
}

/** Returns the statements that store the labels which differ from the column names. `relation` is quoted. */
export function columnComments(relation: string, columns: readonly { name: string; label: string }[]): string[] {
  return columns
    .filter(({ name, label }) => label !== name)
    .map(
      ({ name, label }) =>
        `comment on column ${relation}.${escapeIdentifier(name)} is ${escapeLiteral(label.replaceAll('\0', ''))}`,
    )
}

/**
 * Drops a partition that a committed publication has detached and does not keep. Throws if a lock takes longer than 2
 * s.
 */
export async function dropReplaced(pool: Pool, name: string): Promise<void> {
  const settings = `set local synchronous_commit = off; set local lock_timeout = '2s'; set local statement_timeout = '1min'`
  await withClient(pool, undefined, (client) =>
    client.query(`${settings}; drop table if exists ${qualifyName('sluice', name)}`),
  )
}

/**
 * Drops a table of the hidden schema. Returns false, with nothing changed, if it does not exist, is a partition of a
 * published table, or is kept for a restore. The check is necessary, because if the response to a publishing commit was
 * lost, a seemingly unused table may contain published or replaced rows. Throws if a lock takes longer than 2 s.
 */
export async function dropDetached(pool: Pool, name: string): Promise<boolean> {
  return withClient(pool, undefined, async (client) => {
    const table = qualifyName('sluice', name)
    const timeouts = `set local lock_timeout = '2s'; set local statement_timeout = '1min'`
    await client.query(`begin; ${timeouts}; lock table only ${table} in access exclusive mode`)
    const { rowCount } = await client.query(
      `select from pg_class where oid = to_regclass($1) and not relispartition
         and relname not in (select partition_name from sluice.kept_table where partition_name is not null)`,
      [table],
    )
    const isUnused = rowCount === 1
    await client.query(isUnused ? `drop table ${table}; commit` : 'rollback')
    return isUnused
  }).catch((error: unknown) => {
    if (sqlStateOf(error) === sqlStates.undefinedTable) return false
    throw error
  })
}
