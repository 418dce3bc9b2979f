import { randomBytes } from 'node:crypto'
import type { LoadTarget } from '@sluice/warehouses/warehouse'
import { columns, loadAll } from '@sluice/warehouses/testing/row-fixtures'
import { pipelineBody, schemaBody, type Asking, type Service } from './app-under-test.ts'

/** A view as somebody would send it, with a name of its own. */
export function viewBody(schema: string, query: string, changes: object = {}) {
  return {
    name: `View ${randomBytes(6).toString('hex')}`,
    schema: { id: schema },
    query,
    materialized: false,
    disabled: false,
    runTrigger: 'NEVER',
    ...changes,
  }
}

export interface LoadedPlace {
  /** The uid and the name in the warehouse. */
  schema: string
  schemaName: string
  pipeline: string
  table: string
}

type Rows = Parameters<typeof loadAll>[2]

/** Puts rows where a pipeline of the client would load them, without a worker. */
export async function fill(
  service: Service,
  client: string,
  { schemaName: schema, table }: Pick<LoadedPlace, 'schemaName' | 'table'>,
  { types, rows }: { types: Record<string, string>; rows: Rows },
): Promise<void> {
  const warehouse = await service.stack.warehouses.open(client)
  await warehouse.catalog.ensureSchema(schema)
  const target: Pick<LoadTarget, 'schema' | 'table' | 'columns'> = { schema, table, columns: columns(types) }
  await loadAll(warehouse, target, rows)
}

/** A schema with a pipeline that has loaded three rows of id and region. */
export async function loadedPlace(
  service: Service,
  owner: Asking,
  client: string,
  changes: { schema?: object; pipeline?: object } = {},
): Promise<LoadedPlace> {
  const { body: schema } = await owner.post('/schemas').send(schemaBody(changes.schema)).expect(201)
  const sent = pipelineBody(schema.id, changes.pipeline)
  const { body: pipeline } = await owner.post('/data-pipelines').send(sent).expect(201)
  const place = {
    schema: schema.id as string,
    schemaName: schema.schemaName as string,
    pipeline: pipeline.id as string,
    table: pipeline.dataWarehouseTargetTableName as string,
  }
  const rows = [
    [1, 'north'],
    [2, 'south'],
    [3, 'north'],
  ] as const
  await fill(service, client, place, { types: { id: 'INTEGER', region: 'TEXT' }, rows })
  return place
}
