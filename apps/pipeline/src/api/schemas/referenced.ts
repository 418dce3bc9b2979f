import { holds, type ReferencedSchema } from '@sluice/contracts'
import type { Caller } from '@sluice/http'
import { visibleTo } from '@sluice/records'
import type { Transaction } from 'kysely'
import { Problem } from '@sluice/http'
import type { DB } from '../../database.ts'
import type { Asked } from '../operation.ts'
import { presentSchemas, schemas, type SchemaRow } from './records.ts'

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
  const visible = found.filter(({ shown }) => maySee && shown)
  const whole = new Map((await presentSchemas(visible, context)).map((schema) => [schema.id, schema]))
  return new Map(
    found.map(({ id, uid, name, schema_name }) => [id, whole.get(uid) ?? { id: uid, name, schemaName: schema_name }]),
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
