import { randomBytes } from 'node:crypto'
import type { Stack } from '../worker/worker-stack.ts'

export interface PushedView {
  id: number
  uid: string
  client: string
  name: string
}

/** A view of a client, in the database and in the warehouse, with these rows: as somebody would have made it. */
export async function viewOf(stack: Stack, client: string, query: string): Promise<PushedView> {
  const name = `v${randomBytes(4).toString('hex')}`
  const schema = await stack.db
    .insertInto('schemas')
    .values({
      client,
      name,
      schema_name: name,
      permanent: false,
      provider_schema: 'SQL_DATABASE_D',
      public_access: 'READ',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const row = await stack.db
    .insertInto('views')
    .values({
      client,
      name,
      schema_id: schema.id,
      view_name: name,
      query,
      materialized: false,
      disabled: false,
      run_trigger: 'NEVER',
      public_access: 'READ',
    })
    .returning(['id', 'uid'])
    .executeTakeFirstOrThrow()
  const warehouse = await stack.warehouses.open(client)
  await warehouse.catalog.ensureSchema(name)
  const definition = { id: row.uid, schema: name, name, query, materialized: false }
  await warehouse.views.define(definition, { seconds: 60 }, new AbortController().signal)
  return { ...row, client, name }
}

/** A query of so many values that DHIS2 takes. */
export const manyValues = (count: number): string =>
  `select 'f7n9E0hX8qk' as dataelement, '202601' as period, 'unit' || n as orgunit, n as value from generate_series(1, ${count}) as n`
