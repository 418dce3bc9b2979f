import { items, type ServiceClient } from '@sluice/client'
import { dataPipelines, type DataPipeline, type Schema, schemas } from '@sluice/client/pipeline'

/** Returns the schema with that name. Creates it if it does not exist. */
export async function findOrCreateSchema(pipeline: ServiceClient, name: string): Promise<Schema> {
  const [found] = await pipeline.call(schemas.list, { query: { filter: [`name:eq:${name}`], pageSize: 1 } })
  const body = { name, permanent: false, providerSchema: 'SQL_DATABASE_D' as const }
  return found ?? (await pipeline.call(schemas.create, { body }))
}

/** Returns the CSV pipeline with that name that loads into the schema. Creates it if it does not exist. */
export async function findOrCreatePipeline(
  pipeline: ServiceClient,
  name: string,
  schema: Schema,
): Promise<DataPipeline> {
  for await (const found of items(pipeline, dataPipelines.list, { query: { filter: [`name:eq:${name}`] } }))
    if (found.dataWarehouseTarget.schema.id === schema.id) return found
  return pipeline.call(dataPipelines.create, {
    body: {
      name,
      type: 'CSV_UPLOAD',
      disabled: false,
      runTrigger: 'NEVER',
      dataWarehouseTarget: { schema: { id: schema.id } },
    },
  })
}
