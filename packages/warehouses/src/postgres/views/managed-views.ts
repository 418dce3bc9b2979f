import type { ClientBase } from 'pg'
import type { TablePlace } from '../../catalog.ts'
import { definitionHash, type ViewDefinition, type WarehouseView } from '../../view-store.ts'
import { qualifyName } from '../names.ts'
import { selectDirectReads } from './dependent-views.ts'
import { viewProblems } from './view-problems.ts'

/** The metadata in the comment of a view that Sluice manages: its id and a hash of its definition. */
type ViewMetadata = NonNullable<WarehouseView['managed']>

export const metadataOf = (view: ViewDefinition): ViewMetadata => ({ id: view.id, definition: definitionHash(view) })

/** Returns the comment of a managed view. `parseViewComment` reverses it. */
export const formatViewComment = (metadata: ViewMetadata): string => JSON.stringify({ sluiceView: metadata })

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

const selectRelation = `select c.oid::int8, c.relkind as kind, pg_has_role(c.relowner, 'usage') as owned, c.relispopulated as populated,
  obj_description(c.oid, 'pg_class') as comment, n.nspname as schema, c.relname as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace`

/** Finds a table or view by its name. */
export async function findRelation(
  client: ClientBase,
  { schema, name }: TablePlace,
): Promise<(PostgresRelation & TablePlace) | undefined> {
  const { rows } = await client.query(`${selectRelation} where n.nspname = $1 and c.relname = $2`, [schema, name])
  return rows[0] && parseRelationRow(rows[0])
}

/** Finds a managed view by its id, in any schema. */
export async function findManagedView(
  client: ClientBase,
  id: string,
): Promise<(PostgresRelation & TablePlace) | undefined> {
  const { rows } = await client.query(
    `${selectRelation} join pg_description d on d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid = 0
     where c.relkind in ('v', 'm') and pg_has_role(c.relowner, 'usage') and starts_with(d.description, $1) order by c.oid limit 1`,
    [`{"sluiceView":{"id":${JSON.stringify(id)},`],
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
    `with recursive source (oid) as (
       select direct.relation from (${selectDirectReads}) as direct where direct.view = $1::oid
       union
       select direct.relation from source join pg_class v on v.oid = source.oid and v.relkind in ('v', 'm')
       join (${selectDirectReads}) as direct on direct.view = v.oid
       where ${isUnmanaged('v.oid')}
     )
     select n.nspname as schema, c.relname as name from source join pg_class c on c.oid = source.oid
     join pg_namespace n on n.oid = c.relnamespace
     where n.nspname not in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'p', 'v', 'm', 'f')
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
    `with recursive source (oid) as (
       select direct.relation from (${selectDirectReads}) as direct where direct.view = $1::oid
       union
       select direct.relation from source join (${selectDirectReads}) as direct on direct.view = source.oid
     )
     select from source where oid = $2::oid`,
    [viewOid, relationOid],
  )
  return rowCount !== 0
}

/** Lists at most 100 unmanaged views that read a relation directly, as `schema.name`. */
export async function listUnmanagedViews(client: ClientBase, { schema, name }: TablePlace): Promise<string[]> {
  const { rows } = await client.query<{ qualifiedName: string }>(
    `select distinct vn.nspname || '.' || v.relname as "qualifiedName" from (${selectDirectReads}) as direct
     join pg_class v on v.oid = direct.view join pg_namespace vn on vn.oid = v.relnamespace
     join pg_class c on c.oid = direct.relation join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = $2 and ${isUnmanaged('v.oid')} order by 1 limit 100`,
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
