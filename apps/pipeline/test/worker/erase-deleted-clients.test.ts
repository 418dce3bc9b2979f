import { access } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { warehouseTypes } from '@sluice/contracts/connector-types'
import { Redaction, createLogger } from '@sluice/process'
import { sql } from 'kysely'
import { listClientsWithData } from '../../src/erasure/erase-client.ts'
import { eraseDeletedClients } from '../../src/worker/maintenance/erase-deleted-clients.ts'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import { newReaderLogin } from '@sluice/warehouses/warehouse-reader-logins'
import { columns, loadAll, never, numbered } from '@sluice/warehouses/testing/row-fixtures'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { type Stack, startStack } from './worker-stack.ts'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })
const day = 86_400_000

/**
 * Creates a client with a warehouse that contains rows, a reader, an uploaded file, a run with a log line, a variable
 * and a setting.
 */
async function fullClient() {
  const pipeline = await stack.pipeline()
  const warehouse = await stack.warehouses.open(pipeline.client)
  await warehouse.catalog.ensureSchema(pipeline.schema)
  await loadAll(warehouse, { ...pipeline, columns: columns({ id: 'INTEGER', name: 'TEXT' }) }, numbered(3))
  const { file } = (await stack.upload(pipeline, 'id,name\n')) as { file: { uid: string } }
  const run = await stack.run(pipeline)
  await sql`
    insert into run_logs (run_id, runnable_id, level, importance, message)
    values (${run.id}, ${pipeline.id}, 'INFO', 'LOW', 'A line.')`.execute(stack.db)
  await sql`
    insert into settings (client, key, value) values (${pipeline.client}, 'THEME', 'dark')`.execute(stack.db)
  const { id: schemaId } = await stack.db
    .selectFrom('schemas')
    .select('id')
    .where('client', '=', pipeline.client)
    .executeTakeFirstOrThrow()
  const reader = {
    client: pipeline.client,
    name: 'A reader',
    provider_schema: warehouseTypes.postgres,
    login: newReaderLogin(await stack.warehouses.ensureKey(pipeline.client)),
    schema_ids: JSON.stringify([schemaId]),
  }
  const { id } = await stack.db.insertInto('warehouse_readers').values(reader).returning('id').executeTakeFirstOrThrow()
  await stack.readers.apply(id)
  const { key } = await stack.db
    .selectFrom('warehouses')
    .select('key')
    .where('client', '=', pipeline.client)
    .executeTakeFirstOrThrow()
  return { client: pipeline.client, run, file, key, pipeline }
}

const job = (deleted: { id: string; deleted: Date }[], now = new Date()) =>
  eraseDeletedClients({
    ...stack,
    logger,
    now: () => now,
    identity: {
      deletedClients: async (uids) =>
        deleted
          .filter(({ id }) => uids.includes(id))
          .map(({ id, deleted }) => ({ id, code: 'GONE', name: 'Gone', deleted: deleted.toISOString() })),
    },
  })

/** What the warehouse's server still has of a client. */
async function serverHas(key: string): Promise<number> {
  await using superuser = await connected(superuserUrl())
  const { rows } = await superuser.query(
    `select datname as name from pg_database where datname = $1
     union all select rolname from pg_roles where starts_with(rolname, $2)`,
    [`c_${key}`, `c_${key}_`],
  )
  return rows.length
}

describe('data of a deleted organisation', () => {
  it('is erased 30 days after the deletion, with warehouse, files and runs, and is audited', async () => {
    const [gone, staying] = [await fullClient(), await fullClient()]
    const deleted = new Date()
    const just = [{ id: gone.client, deleted }]
    expect(await job(just, new Date(deleted.getTime() + 29 * day)).run(never)).toBe(0)
    expect(await listClientsWithData(stack.db)).toContain(gone.client)

    expect(await job(just, new Date(deleted.getTime() + 30 * day)).run(never)).toBe(1)
    expect(await listClientsWithData(stack.db)).toEqual([staying.client])
    const { rows } = await sql`select from runs where id = ${gone.run.id}`.execute(stack.db)
    expect(rows).toEqual([])
    expect(await serverHas(gone.key)).toBe(0)
    await expect(access(getUploadPath(stack.filesDirectory, gone.file.uid))).rejects.toThrow('ENOENT')
    const audit = await sql<{ details: object }>`
      select details from audit where operation = 'deletedClients.erase' and object = ${gone.client}`.execute(stack.db)
    expect(audit.rows).toMatchObject([{ details: { code: 'GONE', erased: { data_pipelines: 1, schemas: 1 } } }])

    // The database, three roles of the warehouse, the reader, its group and the role of its schema.
    expect(await serverHas(staying.key)).toBe(7)
    const { pipeline } = staying
    const table = await (await stack.warehouses.find(staying.client))?.catalog.findTable(
      pipeline.schema,
      pipeline.table,
    )
    expect(table).toBeDefined()
  })

  it('is kept if the identity service does not report the organisation as deleted', async () => {
    const unknown = await fullClient()
    expect(await job([], new Date(Date.now() + 365 * day)).run(never)).toBe(0)
    expect(await listClientsWithData(stack.db)).toContain(unknown.client)
  })
})
