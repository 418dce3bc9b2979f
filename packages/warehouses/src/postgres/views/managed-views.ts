import type { ClientBase } from 'pg'
import type { TablePlace } from '../../catalog.ts'
import { definitionHash, type ViewDefinition, type WarehouseView } from '../../view-store.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { selectDirectReads } from './dependent-views.ts'
import { viewProblems } from './view-problems.ts'

/** The metadata in the comment of a view that Sluice manages: its id and a hash of its definition. */
type ViewMetadata = NonNullable<WarehouseView['managed']>

export const metadataOf = (view: ViewDefinition): ViewMetadata => ({ id: view.id, definition: definitionHash(view) })

/** Returns the comment of a managed view. `parseViewComment` reverses it. */
export const formatViewComment = (metadata: ViewMetadata): string => JSON.stringify({ sluiceView: metadata })

/** Returns the start of the comment of the view with this id, up to the id. */
const startOfViewComment = (id: string): string => `{"sluiceView":{"id":${JSON.stringify(id)},`

/** Parses the metadata in a view's comment. Returns undefined for any other comment. */
function parseViewComment(comment: string | null): ViewMetadata | undefined {
  if (!comment?.startsWith('{"sluiceView":')) return undefined
  try {
    const { id, definition } = JSON.parse(comment).sluiceView
    return typeof id === 'string' && typeof definition === 'string' ? { id, definition } : undefined
  } catch {
    return undefined
  }
}

export interface PostgresRelation {
  oid: number
  /** The `relkind` in pg_class: `v` (view), `m` (materialised view), `r` (table), `p` (partitioned table), … */
  kind: string
  /** True if role `load` owns the view and may change it. */
  owned: boolean
  /** False for a materialised view that was created without rows. */
  populated: boolean
  /** The metadata of a view that Sluice manages. */
  managed?: ViewMetadata
}

const selectRelation = `select relation.oid::int8, relation.relkind as kind,
  pg_has_role(relation.relowner, 'usage') as owned, relation.relispopulated as populated,
  obj_description(relation.oid, 'pg_class') as comment, schema.nspname as schema, relation.relname as name
  from pg_class as relation join pg_namespace as schema on schema.oid = relation.relnamespace`

/** Finds a table or view by its name. */
export async function findRelation(
  client: ClientBase,
  { schema, name }: TablePlace,
): Promise<(PostgresRelation & TablePlace) | undefined> {
  const { rows } = await client.query(`${selectRelation} where schema.nspname = $1 and relation.relname = $2`, [
    schema,
    name,
  ])
  return rows[0] && parseRelationRow(rows[0])
}

/** Finds a managed view by its id, in any schema. The comment of a managed view is JSON that starts with its id. */
export async function findManagedView(
  client: ClientBase,
  id: string,
): Promise<(PostgresRelation & TablePlace) | undefined> {
  const { rows } = await client.query(
    `${selectRelation}
     join pg_description as relation_comment on relation_comment.objoid = relation.oid
       and relation_comment.classoid = 'pg_class'::regclass and relation_comment.objsubid = 0
     where relation.relkind in ('v', 'm') and pg_has_role(relation.relowner, 'usage')
       and starts_with(relation_comment.description, $1)
     order by relation.oid limit 1`,
    [startOfViewComment(id)],
  )
  return rows[0] && parseRelationRow(rows[0])
}

interface RelationRow extends Omit<PostgresRelation, 'oid' | 'managed'>, TablePlace {
  oid: string
  comment: string | null
}

function parseRelationRow({ oid, comment, ...relation }: RelationRow): PostgresRelation & TablePlace {
  const managed = parseViewComment(comment)
  return { ...relation, oid: Number(oid), ...(managed && { managed }) }
}

export const isView = ({ kind }: PostgresRelation): boolean => kind === 'v' || kind === 'm'

export const viewKeyword = (materialized: boolean): string => (materialized ? 'materialized view' : 'view')

/** Returns the SQL condition that a relation is not a managed view. `oid` is an SQL expression for its OID. */
const isUnmanaged = (oid: string): string =>
  `coalesce(obj_description(${oid}, 'pg_class'), '') not like '{"sluiceView":%'`

/** Returns the tables and views that a view reads directly, or through unmanaged views. */
export async function listReads(client: ClientBase, viewOid: number): Promise<TablePlace[]> {
  const { rows } = await client.query<TablePlace>(
    // Starts with what the view itself reads, and then adds what the unmanaged views among the sources read.
    `with recursive direct_read as not materialized (${selectDirectReads}), source (oid) as (
       select relation from direct_read where view = $1::oid
       union
       select direct_read.relation from source
       join pg_class as view on view.oid = source.oid and view.relkind in ('v', 'm')
       join direct_read on direct_read.view = view.oid
       where ${isUnmanaged('view.oid')}
     )
     select schema.nspname as schema, relation.relname as name
     from source join pg_class as relation on relation.oid = source.oid
     join pg_namespace as schema on schema.oid = relation.relnamespace
     where schema.nspname not in ('pg_catalog', 'information_schema')
       -- Tables, partitioned tables, views, materialised views and foreign tables.
       and relation.relkind in ('r', 'p', 'v', 'm', 'f')
     order by 1, 2`,
    [viewOid],
  )
  return rows
}

/** Lists the tables and views that this view reads, see `listReads`. Empty if it does not exist or is not a view. */
export async function listViewReads(client: ClientBase, place: TablePlace): Promise<TablePlace[]> {
  const relation = await findRelation(client, place)
  return relation && isView(relation) ? listReads(client, relation.oid) : []
}

/** True if a view reads a relation, directly or through other views. */
export async function readsRelation(client: ClientBase, viewOid: number, relationOid: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `with recursive direct_read as not materialized (${selectDirectReads}), source (oid) as (
       select relation from direct_read where view = $1::oid
       union
       select direct_read.relation from source join direct_read on direct_read.view = source.oid
     )
     select from source where oid = $2::oid`,
    [viewOid, relationOid],
  )
  return rowCount !== 0
}

/** Lists at most 100 unmanaged views that read a relation directly, as `schema.name`. */
export async function listUnmanagedViews(client: ClientBase, { schema, name }: TablePlace): Promise<string[]> {
  const { rows } = await client.query<{ qualifiedName: string }>(
    `select distinct view_schema.nspname || '.' || view.relname as "qualifiedName"
     from (${selectDirectReads}) as direct_read
     join pg_class as view on view.oid = direct_read.view
     join pg_namespace as view_schema on view_schema.oid = view.relnamespace
     join pg_class as relation on relation.oid = direct_read.relation
     join pg_namespace as schema on schema.oid = relation.relnamespace
     where schema.nspname = $1 and relation.relname = $2 and ${isUnmanaged('view.oid')}
     order by 1 limit 100`,
    [schema, name],
  )
  return rows.map(({ qualifiedName }) => qualifiedName)
}

/**
 * Throws if the view is too large. Called after the view is built and before the commit, so the view is rolled back.
 */
export async function assertViewSize(
  client: ClientBase,
  { schema, name }: TablePlace,
  { oid, maxBytes }: { oid: number; maxBytes: number },
): Promise<void> {
  const sizeQuery = 'select pg_total_relation_size($1::oid)::float8 as bytes'
  const { rows } = await client.query<{ bytes: number }>(sizeQuery, [oid])
  const { bytes } = rows[0]!
  if (bytes > maxBytes) throw viewProblems.tooLarge(qualifyName(schema, name), bytes, maxBytes)
}
