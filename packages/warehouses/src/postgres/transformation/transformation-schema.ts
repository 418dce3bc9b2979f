import { type ClientBase, type Pool, escapeIdentifier, escapeLiteral } from 'pg'
import { withClient } from '../postgres-connections.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { qualifyName } from '../names.ts'
import { readShape } from '../table-shape.ts'
import { columnComments, commentOnStaging, toStagingComment } from '../staging-table-ddl.ts'
import { WarehouseProblem } from '../../warehouse.ts'

/**
 * A temporary schema of one run. It contains the staging tables under the names of their targets while users' SQL runs
 * on them.
 */
export interface TransformationSchema {
  schema: string
  /** The search path: first the schema with the staged rows, then the target's schema. */
  path: string
  open(client: ClientBase): Promise<void>
  /** Moves the tables back after the statements, whatever they changed. Returns the row count of each table. */
  close(client: ClientBase): Promise<number[]>
  /** Moves the tables back in the open transaction and keeps the schema. */
  moveTables(client: ClientBase): Promise<number[]>
}

export function createTransformationSchema(loads: readonly PostgresStagedTable[]): TransformationSchema {
  const first = loads[0]!
  const schema = `sluice_${first.stagingTable}`.slice(0, 63)
  const name = escapeIdentifier(schema)
  const comment = escapeLiteral(JSON.stringify(toStagingComment(first.target)))
  const moveTables = async (client: ClientBase) => {
    const rows: number[] = []
    for (const load of loads) rows.push(await moveBack(client, schema, load))
    await assertNothingLeft(client, schema)
    return rows
  }
  return {
    schema,
    moveTables,
    path: `${name}, ${escapeIdentifier(first.target.schema)}`,

    async open(client) {
      const moveStatements = loads.flatMap(({ stagingTable, target }) => [
        `alter table ${qualifyName('sluice', stagingTable)} set schema ${name}`,
        `alter table ${qualifyName(schema, stagingTable)} rename to ${escapeIdentifier(target.table)}`,
      ])
      const statements = [`create schema ${name}`, `comment on schema ${name} is ${comment}`]
      await client.query(['begin', ...statements, ...moveStatements, 'commit'].join(';'))
    },

    async close(client) {
      await client.query(`reset all; begin`)
      const rows = await moveTables(client)
      await client.query(`drop schema ${name} cascade; commit`)
      return rows
    },
  }
}

/**
 * Moves a staging table back to the hidden schema. Sets its comments again, because a statement may have dropped and
 * recreated the table.
 */
async function moveBack(
  client: ClientBase,
  schema: string,
  { target, stagingTable }: PostgresStagedTable,
): Promise<number> {
  const qualifiedName = qualifyName(schema, target.table)
  const shape = await readShape(client, schema, target.table, { isPrepared: false })
  const { rowCount: plain } = await client.query(
    `select from pg_class c where c.oid = $1::oid and relkind = 'r' and relpersistence = 'p' and not relispartition
       and pg_has_role(relowner, 'usage') and not exists (select from pg_inherits where c.oid in (inhrelid, inhparent))`,
    [shape?.oid],
  )
  if (!shape || !plain)
    throw transformationFailed(
      `The transformation dropped "${target.table}" or replaced it by another kind of object, so it cannot be published. Keep it as a plain table.`,
    )
  if (shape.columns.length === 0)
    throw transformationFailed(`After the transformation, table "${target.table}" has no columns. Keep at least one.`)
  const labels = new Map(target.columns.map(({ name, label }) => [name, label]))
  const staging = qualifyName('sluice', stagingTable)
  const relabelled = shape.columns.map(({ name, label }) => ({ name, label: labels.get(name) ?? label }))
  const { rows } = await client.query(`select count(*)::float8 as count from ${qualifiedName}`)
  await client.query(
    [
      ...(await plainColumns(client, shape.oid, qualifiedName)),
      ...(await renameIndexes(client, shape.oid, schema, stagingTable)),
      `alter table ${qualifiedName} rename to ${escapeIdentifier(stagingTable)}`,
      `alter table ${qualifyName(schema, stagingTable)} set schema sluice`,
      commentOnStaging(stagingTable, target),
      ...columnComments(staging, relabelled),
    ].join(';'),
  )
  return rows[0].count
}

/**
 * Returns statements that turn generated columns into ordinary ones with their current values, because published tables
 * support only ordinary columns.
 */
async function plainColumns(client: ClientBase, table: unknown, qualifiedName: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string; filling: 'identity' | 'expression' | 'default' }>(
    `select attname as name, case when attidentity <> '' then 'identity' when attgenerated <> '' then 'expression' else 'default' end as filling
     from pg_attribute where attrelid = $1::oid and attnum > 0 and not attisdropped and (atthasdef or attidentity <> '')`,
    [table],
  )
  const { rows: sequences } = await client.query<{ name: string }>(
    `select format('%I.%I', relnamespace::regnamespace::text, relname) as name from pg_depend join pg_class c on c.oid = objid
     where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and refobjid = $1::oid and relkind = 'S' and deptype = 'a'`,
    [table],
  )
  return [
    ...rows.map(
      ({ name, filling }) => `alter table ${qualifiedName} alter column ${escapeIdentifier(name)} drop ${filling}`,
    ),
    ...sequences.map(({ name }) => `drop sequence ${name}`),
  ]
}

/**
 * Returns statements that rename the table's indexes after the staging table. A transformation can use the same index
 * names in every load. The tables of all loads move to schema `sluice`, where equal names would collide.
 */
async function renameIndexes(
  client: ClientBase,
  table: unknown,
  schema: string,
  stagingTable: string,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select relname as name from pg_index join pg_class c on c.oid = indexrelid where indrelid = $1::oid order by c.oid',
    [table],
  )
  return rows.map(({ name }, index) => {
    const suffix = `_i${index + 1}`
    const ownName = escapeIdentifier(stagingTable.slice(0, 63 - suffix.length) + suffix)
    return `alter index ${qualifyName(schema, name)} rename to ${ownName}`
  })
}

/**
 * Throws if the statements left other objects in the schema. Dropping the schema would drop these, and a dropped type
 * would take its columns with it.
 */
async function assertNothingLeft(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ type: string; identity: string }>(
    `select o.type, o.identity from pg_depend d, pg_identify_object(d.classid, d.objid, 0) o
     where d.refclassid = 'pg_namespace'::regclass and d.refobjid = to_regnamespace(quote_ident($1)) and d.deptype = 'n'
     order by d.objid`,
    [schema],
  )
  if (rows.length === 0) return
  // Removes the schema from the object names, because it is an internal schema of this run.
  const prefix = `${schema}.`
  const leftovers = rows.map(({ type, identity }) => `${type} ${identity.replaceAll(prefix, '')}`)
  throw transformationFailed(describeLeftovers(leftovers))
}

/**
 * Drops the schema with its contents, except the staging tables in `rescue`, which move back under their own names.
 * First ends the server process that may still use the schema, and waits until it has ended.
 */
export async function dropRunSchema(
  pool: Pool,
  schema: string,
  { process, rescue = [] }: { process?: number; rescue?: readonly PostgresStagedTable[] } = {},
): Promise<boolean> {
  return withClient(pool, undefined, async (client) => {
    if (process)
      await client.query(
        'select pg_terminate_backend(pid, 2000) from pg_stat_activity where pid = $1 and usename = current_user',
        [process],
      )
    const name = escapeIdentifier(schema)
    const { rows } = await client.query('select to_regnamespace($1) is not null as exists', [name])
    if (!rows[0].exists) return false
    const moveStatements = rescue.flatMap(({ target, stagingTable }) => [
      `alter table if exists ${qualifyName(schema, target.table)} rename to ${escapeIdentifier(stagingTable)}`,
      `alter table if exists ${qualifyName(schema, stagingTable)} set schema sluice`,
    ])
    const within = `set local lock_timeout = '2s'; set local statement_timeout = '1min'`
    await client.query(['begin', within, ...moveStatements, 'commit'].join(';'))
    await dropTables(client, schema, within)
    await client.query(['begin', within, `drop schema ${name} cascade`, 'commit'].join(';'))
    return true
  })
}

/** The number of tables dropped in one transaction, which holds several locks for each. */
const tablesPerTransaction = 200

/**
 * Drops all tables of a schema in several transactions, because users may have created more tables than the server's
 * lock table can hold.
 */
async function dropTables(client: ClientBase, schema: string, within: string): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ tables: string | null; count: number }>(
      `select string_agg(one, ', ') as tables, count(*)::int as count from (
         select format('%I.%I', $1::text, relname) as one from pg_class
         where relnamespace = to_regnamespace(quote_ident($1)) and relkind in ('r', 'p') limit ${tablesPerTransaction}) several`,
      [schema],
    )
    const { tables, count } = rows[0]!
    // The last tables are dropped together with the schema.
    if (!tables || count < tablesPerTransaction) return
    await client.query(['begin', within, `drop table if exists ${tables} cascade`, 'commit'].join(';'))
  }
}

export function transformationFailed(sentence: string, cause?: unknown): WarehouseProblem {
  return new WarehouseProblem('TRANSFORMATION_FAILED', `${sentence} The old data stays.`, { cause })
}

const maxNamed = 5

/** Names the objects that a transformation created and did not drop, such as `table extra`. */
function describeLeftovers(objects: readonly string[]): string {
  const objectNames = objects.slice(0, maxNamed).join(', ')
  const moreText = objects.length > maxNamed ? ` and ${objects.length - maxNamed} more` : ''
  return `The transformation created objects that cannot be published: ${objectNames}${moreText}. Create temporary tables instead, or drop these objects in the last statement; for permanent results, save a view.`
}
