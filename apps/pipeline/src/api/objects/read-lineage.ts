import type { Lineage, LineageObject, defineLineageSignature } from '@sluice/contracts'
import type { OperationInput } from '@sluice/http-server'
import type { Records } from '@sluice/records'
import type { TablePlace } from '@sluice/warehouses/warehouse'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { type NamedRelation, relationsInSql } from '../../lineage/relations-in-sql.ts'
import { type PipelineContext, type RequestContext, definePipelineOperation } from '../operation-context.ts'
import { type ReadObject, findReaders, maxReaders } from './find-dependent-objects.ts'

interface LineageRow {
  id: number
  uid: string
  version: number
  client: string
}

interface LineageResource<Row extends LineageRow> {
  kind: Exclude<ReadObject['kind'], 'TABLE'>
  records: Records<Row, any, RequestContext>
  /** Lists the names of views that users created in the warehouse on top of this object. */
  listExternalReaders?(input: RequestContext, row: Row): Promise<string[]>
}

/** Returns the lineage operation of a kind: it lists what an object reads, and what reads the object. */
export const createLineageOperation = <Row extends LineageRow>(
  signatures: ReturnType<typeof defineLineageSignature<string>>,
  { kind, records, listExternalReaders }: LineageResource<Row>,
) => ({
  lineage: definePipelineOperation(signatures.lineage, async (input): Promise<Lineage> => {
    const { db, caller, params } = input as OperationInput<PipelineContext, '/:uid', undefined, undefined>
    const row = await records.read(db, caller, params.uid)
    const object = { kind, id: row.id, client: row.client, relation: await findRelation(db, kind, row.id) }
    const [reads, externalViews] = await Promise.all([
      listReads(db, object),
      listExternalReaders?.(input, row) ?? Promise.resolve([]),
    ])
    return readLineage(input, object, reads, externalViews)
  }),
})

/**
 * Returns the lineage of an object: the objects that it reads (`reads`), and the objects that read it. `externalViews`
 * has the names of views over it that Sluice did not create.
 */
export async function readLineage(
  { db, caller }: Pick<RequestContext, 'db' | 'caller'>,
  object: ReadObject,
  reads: readonly LineageObject[],
  externalViews: readonly string[] = [],
): Promise<Lineage> {
  const readers = await findReaders(db, caller, object)
  const shownReaders = readers.filter(({ isShown }) => isShown)
  const readBy = [
    ...shownReaders.map(({ kind, id, name }): LineageObject => ({ kind, id, name })),
    ...externalViews.map((name): LineageObject => ({ kind: 'EXTERNAL_VIEW', name })),
  ]
  return {
    reads: reads.slice(0, maxReaders),
    readBy: readBy.slice(0, maxReaders),
    hiddenReaders: readers.length - shownReaders.length,
  }
}

/** Returns the table or view that a pipeline or view creates in the warehouse; undefined for other objects. */
async function findRelation(db: Kysely<DB>, kind: ReadObject['kind'], id: number): Promise<TablePlace | undefined> {
  const selectByKind: Partial<Record<ReadObject['kind'], RawBuilder<TablePlace>>> = {
    DATA_PIPELINE: sql`
      select schemas.schema_name as schema, data_pipelines.table_name as name
      from data_pipelines join schemas on schemas.id = data_pipelines.schema_id where data_pipelines.id = ${id}`,
    VIEW: sql`
      select schemas.schema_name as schema, views.view_name as name
      from views join schemas on schemas.id = views.schema_id where views.id = ${id}`,
  }
  const result = await selectByKind[kind]?.execute(db)
  return result?.rows[0]
}

/**
 * Lists what an object reads, runs or contains. Everyone who may read the object may see the names of these other
 * objects, because the object itself shows them.
 */
async function listReads(db: Kysely<DB>, { kind, id, client }: ReadObject): Promise<LineageObject[]> {
  const list = async (query: RawBuilder<LineageObject>) => (await query.execute(db)).rows
  switch (kind) {
    case 'DATA_PIPELINE':
      return [
        ...(await list(sql<LineageObject>`
          select 'DATA_QUALITY_CHECK_GROUP' as kind, g.uid as id, g.name
          from data_pipelines p join data_quality_check_groups g on g.id = p.quality_group_id where p.id = ${id}`)),
        ...(await list(sql<LineageObject>`
          select 'PUBLIC_DATASET' as kind, d.name
          from data_pipelines p join public_datasets d on d.key = p.settings ->> 'key'
          where p.id = ${id} and p.type = 'PUBLIC_DATASET'`)),
        ...(await listReadsOfTransformation(db, id!, client)),
      ]
    case 'VIEW': {
      const sources = await db
        .selectFrom('view_sources')
        .select(['schema_name as schema', 'relation_name as name'])
        .where('view_id', '=', id!)
        .orderBy('schema_name')
        .orderBy('relation_name')
        .execute()
      return findOwners(db, client, sources)
    }
    case 'DATA_QUALITY_CHECK': {
      const check = await db.selectFrom('data_quality_checks').select('query').where('id', '=', id!).executeTakeFirst()
      return findOwners(db, client, relationsInSql(check?.query ?? ''))
    }
    case 'DESTINATION':
      return list(sql`
        select 'VIEW' as kind, v.uid as id, v.name, n.schema_name as schema, v.view_name as "table"
        from destinations d join views v on v.id = d.view_id join schemas n on n.id = v.schema_id where d.id = ${id}`)
    case 'DATA_QUALITY_CHECK_GROUP':
      return list(sql`
        select 'DATA_QUALITY_CHECK' as kind, c.uid as id, c.name
        from data_quality_group_checks g join data_quality_checks c on c.id = g.check_id
        where g.group_id = ${id} order by g.position`)
    case 'WORKFLOW':
      return list(sql`
        select o.kind, o.uid as id, o.name from runnables o
        where o.id in (select j.runnable_id from workflow_jobs j where j.workflow_id = ${id})
        order by o.kind, o.name, o.id`)
    case 'SCHEMA':
    case 'TABLE':
      return []
  }
}

/** Returns the pipelines and views whose tables the transformation of a pipeline reads. */
async function listReadsOfTransformation(db: Kysely<DB>, id: number, client: string): Promise<LineageObject[]> {
  const row = await db
    .selectFrom('data_pipelines')
    .select(['uid', 'transformation'])
    .where('id', '=', id)
    .executeTakeFirst()
  const { sqlStatements = [] } = (row?.transformation ?? {}) as { sqlStatements?: { statement: string }[] }
  const relations = sqlStatements.flatMap(({ statement }) => relationsInSql(statement))
  const owners = await findOwners(db, client, relations)
  // Ignore the pipeline itself, and names without an owner, which can be temporary tables of the transformation.
  return owners.filter((owner) => owner.kind !== 'TABLE' && owner.id !== row!.uid)
}

interface RelationOwner {
  kind: 'DATA_PIPELINE' | 'VIEW'
  id: string
  name: string
  schema: string
  table: string
}

/**
 * Returns the pipeline or view that creates each table or view. A table that Sluice did not create has the kind TABLE.
 * An unqualified name matches in every schema that has such a table.
 */
export async function findOwners(
  db: Kysely<DB>,
  client: string,
  relations: readonly NamedRelation[],
): Promise<LineageObject[]> {
  if (relations.length === 0) return []
  const possibleNames = [...new Set(relations.flatMap(({ name }) => listPossibleTables(name)))]
  const { rows: possibleOwners } = await sql<RelationOwner>`
    select 'DATA_PIPELINE' as kind, pipeline.uid as id, pipeline.name, schemas.schema_name as schema,
      pipeline.table_name as "table"
    from schemas join data_pipelines pipeline on pipeline.schema_id = schemas.id
    where schemas.client = ${client} and pipeline.table_name = any(${possibleNames}::text[])
    union all
    select 'VIEW', view.uid, view.name, schemas.schema_name, view.view_name
    from schemas join views view on view.schema_id = schemas.id
    where schemas.client = ${client} and view.view_name = any(${possibleNames}::text[])
    order by schema, "table"`.execute(db)
  const owners = relations.flatMap((relation) => selectOwners(relation, possibleOwners))
  const ownersWithoutDuplicates = new Map(
    owners.map((owner) => [JSON.stringify([owner.id, owner.schema, owner.table]), owner]),
  )
  return [...ownersWithoutDuplicates.values()]
}

/**
 * Returns the owners of a table or view, one per schema that matches. An additional table (`a__b`) belongs to the
 * pipeline of its main table (`a`), unless a pipeline or view has its full name. If nothing owns the table, returns the
 * table itself with the kind TABLE.
 */
function selectOwners({ schema, name }: NamedRelation, owners: readonly RelationOwner[]): LineageObject[] {
  const ownersInSchema = owners.filter((owner) => schema === undefined || owner.schema === schema)
  // The first possible table is the table itself, the others are possible main tables, longest name first.
  for (const table of listPossibleTables(name)) {
    const isMainTable = table !== name
    const tableOwners = ownersInSchema.filter(
      (owner) => owner.table === table && (!isMainTable || owner.kind === 'DATA_PIPELINE'),
    )
    if (tableOwners.length > 0) return tableOwners.map((owner) => ({ ...owner, table: name }))
  }
  return [
    {
      kind: 'TABLE',
      name: schema === undefined ? name : `${schema}.${name}`,
      ...(schema !== undefined && { schema }),
      table: name,
    },
  ]
}

/**
 * Returns the table names of pipelines to which a table can belong. For `cases__visits` these are `cases__visits` and
 * `cases`.
 */
function listPossibleTables(name: string): string[] {
  const tables = [name]
  for (let separator = name.lastIndexOf('__'); separator > 0; separator = name.lastIndexOf('__', separator - 1))
    tables.push(name.slice(0, separator))
  return tables
}
