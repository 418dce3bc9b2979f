import { hasRole } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { isUid, visibleTo } from '@sluice/records'
import { sql, type SqlBool } from 'kysely'
import type { TablePlace } from '@sluice/warehouses/warehouse'
import type { RequestContext } from '../operation-context.ts'
import type { TableLabels } from '../table-responses.ts'

type CatalogueContext = Pick<RequestContext, 'db' | 'caller' | 'warehouses'>

/** A table or view: its schema and name, its labels, and whether the caller may read its rows. */
export type VisibleTable = TablePlace & TableLabels & { mayReadRows: boolean }

interface CatalogueSchema {
  id: number
  schema_name: string
}

const maySeeAllData = ({ caller }: CatalogueContext) => hasRole(caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')

/**
 * Lists the schemas that the caller may read, or only the schema with the given uid. Throws 404 if the caller may not
 * read the latter.
 */
export async function listCatalogueSchemas(context: CatalogueContext, uid?: string): Promise<CatalogueSchema[]> {
  const { db, caller } = context
  const isReadable = maySeeAllData(context) ? sql<SqlBool>`r.client = ${caller.client}` : visibleTo(caller, 'READ')
  const readableSchemas = db.selectFrom('schemas as r').select(['id', 'schema_name']).where(isReadable)
  if (uid === undefined) return readableSchemas.execute()
  const schema = isUid(uid) ? await readableSchemas.where('uid', '=', uid).executeTakeFirst() : undefined
  if (!schema) throw problems.notFound('schema')
  return [schema]
}

/**
 * Lists the tables and views that the caller may see, sorted by schema and name: the tables of pipelines, and the
 * views, that the caller may read. With ROLE_VIEW_DATA_ALL_DATA_PIPELINE, also the tables of all other pipelines, and
 * tables that neither a pipeline nor a view created.
 */
export async function listVisibleTables(
  context: CatalogueContext,
  schemas: readonly CatalogueSchema[],
): Promise<VisibleTable[]> {
  const { warehouses, caller } = context
  const warehouse = await warehouses.find(caller.client)
  if (!warehouse || schemas.length === 0) return []
  const [relations, owners, keysToDrop] = await Promise.all([
    warehouse.catalog.listRelations(schemas.map(({ schema_name }) => schema_name)),
    findTableOwners(context, schemas),
    listTablesToDrop(context),
  ])
  const seesAll = maySeeAllData(context)
  return relations.flatMap((relation) => {
    const key = tableKey(relation)
    const ownerOfThisTable = owners.get(key)
    const owner = ownerOfThisTable ?? findMainTableOwner(relation, owners)
    const isVisible = owner ? owner.isVisible : seesAll
    if (keysToDrop.has(key) || !isVisible) return []
    // The rows of a pipeline's additional tables require the permission to read all loaded data.
    const mayReadRows = seesAll || ownerOfThisTable !== undefined
    return [{ ...relation, displayName: owner?.name, description: owner?.description ?? undefined, mayReadRows }]
  })
}

const tableKey = ({ schema, name }: TablePlace) => JSON.stringify([schema, name])

/**
 * Finds the pipeline of an additional table, with the display name of the additional table. The name of such a table is
 * that of the pipeline's main table, `__` and a suffix. If several main tables match, the longest name applies.
 */
function findMainTableOwner({ schema, name }: TablePlace, owners: ReadonlyMap<string, TableOwner>) {
  for (let separator = name.lastIndexOf('__'); separator > 0; separator = name.lastIndexOf('__', separator - 1)) {
    const owner = owners.get(tableKey({ schema, name: name.slice(0, separator) }))
    if (owner) return { ...owner, name: `${owner.name}: ${name.slice(separator + 2)}` }
  }
  return undefined
}

interface TableOwner {
  schema_id: number
  relation: string
  name: string
  description: string | null
  isVisible: boolean
}

/** Returns the pipelines and views that create the tables of these schemas, by `tableKey`. */
async function findTableOwners(
  context: CatalogueContext,
  schemas: readonly CatalogueSchema[],
): Promise<Map<string, TableOwner>> {
  const { db, caller } = context
  const ids = schemas.map(({ id }) => id)
  const visible = visibleTo(caller, 'READ')
  const seesPipelines = hasRole(caller.roles, 'ROLE_SEE_DATA_PIPELINE')
  const seesAll = maySeeAllData(context)
  const seesViews = hasRole(caller.roles, 'ROLE_SEE_VIEW')
  const { rows } = await sql<TableOwner>`
    select r.schema_id, r.table_name as relation, r.name, r.description,
      ${seesAll}::boolean or (${seesPipelines}::boolean and ${visible}) as "isVisible"
    from data_pipelines r where r.schema_id = any(${ids}::bigint[])
    union all
    select r.schema_id, r.view_name, r.name, r.description, ${seesViews}::boolean and ${visible}
    from views r where r.schema_id = any(${ids}::bigint[])`.execute(db)
  const schemaNames = new Map(schemas.map(({ id, schema_name }) => [id, schema_name]))
  return new Map(rows.map((row) => [tableKey({ schema: schemaNames.get(row.schema_id)!, name: row.relation }), row]))
}

/** Lists the tables of deleted pipelines and views that still exist in the warehouse and will be dropped. */
async function listTablesToDrop({ db, caller }: CatalogueContext): Promise<Set<string>> {
  const rows = await db
    .selectFrom('warehouse_drops')
    .select(['schema_name as schema', 'table_name as name'])
    .where('client', '=', caller.client)
    .where('table_name', 'is not', null)
    .execute()
  return new Set(rows.map(({ schema, name }) => tableKey({ schema, name: name! })))
}
