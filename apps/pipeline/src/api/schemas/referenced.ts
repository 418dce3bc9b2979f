import { holds, type ReferencedSchema } from '@sluice/contracts'
import type { Caller } from '@sluice/http'
import { visibleTo } from '@sluice/records'
import type { Transaction } from 'kysely'
import { Problem } from '@sluice/http'
import type { DB } from '../../database.ts'
import type { Asked } from '../operation.ts'
import { presentReferencedSchemas, schemas, type SchemaRow } from './records.ts'

/** The schemas that these rows are in. To see what is in a schema is not to see all of the schema. */
export async function schemasOf(
  rows: readonly { schema_id: number }[],
  context: Asked,
): Promise<Map<number, ReferencedSchema>> {
  const { db, caller } = context
  const found = await db
    .selectFrom('schemas as r')
    .selectAll()
    .select(visibleTo(caller, 'READ').as('shown'))
    .where('id', 'in', [0, ...rows.map((row) => row.schema_id)])
    .$castTo<SchemaRow & { shown: boolean }>()
    .execute()
  const maySee = holds(caller.roles, 'ROLE_SEE_SCHEMA')
  const presented = await presentReferencedSchemas(found, context)
  return new Map(
    found.map(({ id, shown }, index) => {
      const schema = presented[index]!
      const { id: uid, name, schemaName } = schema
      return [id, maySee && shown ? schema : { id: uid, name, schemaName }]
    }),
  )
}

/** The schema, locked; undefined where the caller may not put anything into it. */
export async function writableSchema(
  trx: Transaction<DB>,
  caller: Caller,
  uid: string,
): Promise<SchemaRow | undefined> {
  try {
    return await schemas.lock(trx, caller, uid, undefined)
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}
