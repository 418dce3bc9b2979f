import { type ClientBase, type Pool, escapeIdentifier, escapeLiteral } from 'pg'
import { withClient } from '../postgres-connections.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { readShape } from '../table-shape.ts'
import { columnComments, commentOnStaging, toStagingComment } from '../staging-table-ddl.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import { terminateQuery } from '../queries/statement-watchdog.ts'

/**
 * A schema that exists while the transformation of one run runs. It contains the staging tables under the names of
 * their target tables, so that users' SQL can use these names.
 */
export interface TransformationSchema {
  schema: string
  /** The search path: first the schema with the staged rows, then the target's schema. */
  path: string
  /** Creates the schema and moves the staging tables to it. */
  open(client: ClientBase): Promise<void>
  /**
   * Moves the tables back after the statements, whatever they changed, and drops the schema. Returns the row count of
   * each table.
   */
  close(client: ClientBase): Promise<number[]>
  /**
   * Moves the tables back in the open transaction, and does not drop the schema. Returns the row count of each table.
   */
  moveTables(client: ClientBase): Promise<number[]>
}

/**
 * Returns the functions that create and drop the schema for the transformation of these loads. Runs no statement yet.
 */
export function createTransformationSchema(loads: readonly PostgresStagedTable[]): TransformationSchema {
  const first = loads[0]!
  const schema = `sluice_${first.stagingTable}`.slice(0, maxNameBytes)
  const name = escapeIdentifier(schema)
  const comment = escapeLiteral(JSON.stringify(toStagingComment(first.target)))
  const moveTables = async (client: ClientBase) => {
    const rowCounts: number[] = []
    for (const load of loads) rowCounts.push(await moveBack(client, schema, load))
    await assertNothingLeft(client, schema)
    return rowCounts
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
      // The statements may have changed settings of the session.
      await client.query(`reset all; begin`)
      const rowCounts = await moveTables(client)
      await client.query(`drop schema ${name} cascade; commit`)
      return rowCounts
    },
  }
}

/**
 * Moves a staging table back to the hidden schema. Returns its row count. Sets its comments again, because a statement
 * may have dropped and recreated the table. Throws TRANSFORMATION_FAILED if the table is missing or cannot be
 * published.
 */
async function moveBack(
  client: ClientBase,
  schema: string,
  { target, stagingTable }: PostgresStagedTable,
): Promise<number> {
  const qualifiedName = qualifyName(schema, target.table)
  const shape = await readShape(client, schema, target.table, { isPrepared: false })
  if (!shape || !(await isPlainTable(client, shape.oid)))
    throw transformationFailed(
      `The transformation dropped "${target.table}" or replaced it by another kind of object, so it cannot be published. Keep it as a plain table.`,
    )
  if (shape.columns.length === 0)
    throw transformationFailed(`After the transformation, table "${target.table}" has no columns. Keep at least one.`)
  const sourceLabels = new Map(target.columns.map(({ name, label }) => [name, label]))
  const labelledColumns = shape.columns.map(({ name, label }) => ({ name, label: sourceLabels.get(name) ?? label }))
  const staging = qualifyName('sluice', stagingTable)
  const { rows } = await client.query(`select count(*)::float8 as count from ${qualifiedName}`)
  await client.query(
    [
      ...(await dropColumnDefaults(client, shape.oid, qualifiedName)),
      ...(await renameIndexes(client, shape.oid, schema, stagingTable)),
      `alter table ${qualifiedName} rename to ${escapeIdentifier(stagingTable)}`,
      `alter table ${qualifyName(schema, stagingTable)} set schema sluice`,
      commentOnStaging(stagingTable, target),
      ...columnComments(staging, labelledColumns),
    ].join(';'),
  )
  return rows[0].count
}

/**
 * True if the relation is an ordinary (`r`), permanent (`p`) table of the current role, without partitions, parent or
 * child tables.
 */
async function isPlainTable(client: ClientBase, oid: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_class where oid = $1::oid and relkind = 'r' and relpersistence = 'p' and not relispartition
       and pg_has_role(relowner, 'usage')
       and not exists (select from pg_inherits where $1::oid in (inhrelid, inhparent))`,
    [oid],
  )
  return rowCount === 1
}

/**
 * Returns statements that turn generated columns, identity columns and columns with a default into ordinary ones with
 * their current values, because published tables support only ordinary columns. Also drops the sequences of the table.
 */
async function dropColumnDefaults(client: ClientBase, tableOid: number, qualifiedName: string): Promise<string[]> {
  const { rows: columns } = await client.query<{ name: string; property: 'identity' | 'expression' | 'default' }>(
    // The server stores the expression of a generated column like a default (`atthasdef`).
    `select attname as name,
       case when attidentity <> '' then 'identity' when attgenerated <> '' then 'expression' else 'default' end
         as property
     from pg_attribute
     where attrelid = $1::oid and attnum > 0 and not attisdropped and (atthasdef or attidentity <> '')`,
    [tableOid],
  )
  // The sequences of serial columns depend on the table automatically ('a').
  const { rows: sequences } = await client.query<{ name: string }>(
    `select format('%I.%I', sequence.relnamespace::regnamespace::text, sequence.relname) as name
     from pg_depend as dependency join pg_class as sequence on sequence.oid = dependency.objid
     where dependency.classid = 'pg_class'::regclass and sequence.relkind = 'S' and dependency.deptype = 'a'
       and dependency.refclassid = 'pg_class'::regclass and dependency.refobjid = $1::oid`,
    [tableOid],
  )
  return [
    ...columns.map(
      ({ name, property }) => `alter table ${qualifiedName} alter column ${escapeIdentifier(name)} drop ${property}`,
    ),
    ...sequences.map(({ name }) => `drop sequence ${name}`),
  ]
}

/** The maximum length of a name in PostgreSQL. The names of staging tables are ASCII. */
const maxNameBytes = 63

/**
 * Returns statements that name the table's indexes after the staging table: `<staging table>_i1`, …. A transformation
 * can use the same index names in every load. The tables of all loads move to schema `sluice`, where equal names would
 * collide.
 */
async function renameIndexes(
  client: ClientBase,
  tableOid: number,
  schema: string,
  stagingTable: string,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_index join pg_class on pg_class.oid = indexrelid
     where indrelid = $1::oid order by pg_class.oid`,
    [tableOid],
  )
  return rows.map(({ name }, index) => {
    const suffix = `_i${index + 1}`
    const newName = stagingTable.slice(0, maxNameBytes - suffix.length) + suffix
    return `alter index ${qualifyName(schema, name)} rename to ${escapeIdentifier(newName)}`
  })
}

/**
 * Throws TRANSFORMATION_FAILED if the statements left other objects in the schema. Dropping the schema would drop these
 * objects, and dropping a type would also drop the columns of this type.
 */
async function assertNothingLeft(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ type: string; identity: string }>(
    // Every object in a schema has a normal dependency ('n') on the schema.
    `select object.type, object.identity
     from pg_depend as dependency, pg_identify_object(dependency.classid, dependency.objid, 0) as object
     where dependency.refclassid = 'pg_namespace'::regclass and dependency.deptype = 'n'
       and dependency.refobjid = to_regnamespace(quote_ident($1))
     order by dependency.objid`,
    [schema],
  )
  if (rows.length === 0) return
  // Removes the schema from the object names, because it is an internal schema of this run.
  const prefix = `${schema}.`
  const leftovers = rows.map(({ type, identity }) => `${type} ${identity.replaceAll(prefix, '')}`)
  throw transformationFailed(describeLeftovers(leftovers))
}

/**
 * Drops a schema with its contents. Returns false if it does not exist. First ends the server process `process`, which
 * may still use the schema, and waits up to two seconds until it has ended. Then moves the staging tables in `rescue`
 * back to the hidden schema.
 */
export async function dropRunSchema(
  pool: Pool,
  schema: string,
  { process, rescue = [] }: { process?: number | undefined; rescue?: readonly PostgresStagedTable[] } = {},
): Promise<boolean> {
  return withClient(pool, undefined, async (client) => {
    if (process) await client.query(terminateQuery, [process])
    const name = escapeIdentifier(schema)
    const { rows } = await client.query('select to_regnamespace($1) is not null as exists', [name])
    if (!rows[0].exists) return false
    // A table has the name of its target or, if moving it back was interrupted, its own name again.
    const moveStatements = rescue.flatMap(({ target, stagingTable }) => [
      `alter table if exists ${qualifyName(schema, target.table)} rename to ${escapeIdentifier(stagingTable)}`,
      `alter table if exists ${qualifyName(schema, stagingTable)} set schema sluice`,
    ])
    await client.query(['begin', dropTimeouts, ...moveStatements, 'commit'].join(';'))
    await dropTables(client, schema)
    await client.query(['begin', dropTimeouts, `drop schema ${name} cascade`, 'commit'].join(';'))
    return true
  })
}

const dropTimeouts = `set local lock_timeout = '2s'; set local statement_timeout = '1min'`

/** The number of tables dropped in one transaction, which holds several locks for each. */
const tablesPerTransaction = 200

/**
 * Drops most tables of a schema in several transactions, because users may have created more tables than the server's
 * lock table can hold. Leaves fewer than `tablesPerTransaction` tables, which are dropped together with the schema.
 */
async function dropTables(client: ClientBase, schema: string): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ tables: string | null; count: number }>(
      `select string_agg(name, ', ') as tables, count(*)::int as count from (
         select format('%I.%I', $1::text, relname) as name from pg_class
         where relnamespace = to_regnamespace(quote_ident($1)) and relkind in ('r', 'p') limit ${tablesPerTransaction}) batch`,
      [schema],
    )
    const { tables, count } = rows[0]!
    if (!tables || count < tablesPerTransaction) return
    await client.query(['begin', dropTimeouts, `drop table if exists ${tables} cascade`, 'commit'].join(';'))
  }
}

export function transformationFailed(sentence: string, cause?: unknown): WarehouseProblem {
  return new WarehouseProblem('TRANSFORMATION_FAILED', `${sentence} The old data stays.`, { cause })
}

const maxNamed = 5

/** Joins the first five names, and adds the number of the others: `a, b, c, d, e and 2 more`. */
export function nameFirst(names: readonly string[]): string {
  const moreText = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''
  return `${names.slice(0, maxNamed).join(', ')}${moreText}`
}

/** Returns the message about objects that a transformation created and did not drop, such as `table extra`. */
function describeLeftovers(objects: readonly string[]): string {
  return `The transformation created objects that cannot be published: ${nameFirst(objects)}. Create temporary tables instead, or drop these objects in the last statement; for permanent results, save a view.`
}
