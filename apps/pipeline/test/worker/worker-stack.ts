import { hash, randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, keyRing } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { type TemplateStep, testDatabase } from '@sluice/testing'
import type { Kysely, Selectable } from 'kysely'
import type { Client } from 'pg'
import { catalogueClient } from '../../src/warehouses/public-dataset-owner.ts'
import type { DB, Runs } from '../../src/database.ts'
import { migrateQueue, openQueue } from '../../src/queue/pg-boss-queue.ts'
import type { JobQueue } from '../../src/queue/job-queue.ts'
import { createRun } from '../../src/runs/queue-run.ts'
import { type ClientWarehouses, clientWarehouses } from '../../src/warehouses/client-warehouses.ts'
import { readerEndpoints } from '../../src/warehouse-readers/reader-addresses.ts'
import { type WarehouseReaders, warehouseReaders } from '../../src/warehouse-readers/warehouse-readers.ts'
import { getUploadPath, getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'
import { connected, scratchServer, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'

/** A pipeline database with its queue, a warehouse server and a folder for files, as the service finds them. */
export interface Stack extends AsyncDisposable {
  db: Kysely<DB>
  queue: JobQueue
  warehouses: ClientWarehouses
  readers: WarehouseReaders
  filesDirectory: string
  /** What `bin/run-worker.ts` is started with, without its port. */
  environment: Record<string, string>
  /** A pipeline of a client of its own unless one is named; answers its key and uid. */
  pipeline(client?: string): Promise<Pipeline>
  upload(pipeline: Pipeline, content: string | Buffer): Promise<object>
  run(pipeline: Pipeline, input?: object): Promise<Selectable<Runs>>
  state(run: { id: number }): Promise<Selectable<Runs>>
  /**
   * Creates a separate database for the catalogue of public datasets, because concurrent test files share the server.
   */
  isolateCatalogue(): Promise<void>
  /** The superuser, in a client's warehouse. */
  inside(client: string): Promise<Client & AsyncDisposable>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Pipeline {
  id: number
  client: string
  schema: string
  table: string
}

/** Files that decide which tables the queue has and how they are set. */
const queueSources = ['src/queue/pg-boss-queue.ts', 'package.json'].map((file) =>
  readFileSync(join(import.meta.dirname, '../..', file), 'utf8'),
)

/** The queue's tables are the same in every test database, and their migration takes 250 ms. */
const queueStep = (heartbeatSeconds: number): TemplateStep => ({
  inputs: [...queueSources, String(heartbeatSeconds)],
  apply: (url) => migrateQueue(url, { heartbeatSeconds }),
})

export async function startStack({ heartbeatSeconds = 30 } = {}): Promise<Stack> {
  const database = await testDatabase({
    migrations: join(import.meta.dirname, '../../migrations'),
    step: queueStep(heartbeatSeconds),
  })
  const server = await scratchServer()
  const filesDirectory = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
  await mkdir(getUploadsDirectory(filesDirectory))
  const keys = `test:${randomBytes(32).toString('base64')}`
  const redaction = new Redaction()
  const logger = createLogger({ name: 'test', level: 'silent', redaction })
  const { db } = connect<DB>(database.url, { name: 'test' })
  const queue = await openQueue(db, logger)
  const warehouses = clientWarehouses({ db, keyRing: keyRing(keys), adminUrl: server.adminUrl, logger, redaction })
  const readers = warehouseReaders({
    db,
    keyRing: keyRing(keys),
    redaction,
    warehouses,
    endpoints: readerEndpoints({ WAREHOUSE_DATABASE_URL: server.adminUrl }),
    identity: { currentClients: () => Promise.reject(new Error('There is no identity service.')) },
    logger,
  })
  const keyOf = async (client: string) =>
    (await db.selectFrom('warehouses').select('key').where('client', '=', client).executeTakeFirst())?.key

  async function pipeline(client: string = randomUUID()): Promise<Pipeline> {
    const number = randomBytes(4).toString('hex')
    const schema = await db
      .insertInto('schemas')
      .values({
        client,
        name: `s${number}`,
        schema_name: `s${number}`,
        permanent: false,
        provider_schema: 'SQL_DATABASE_D',
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    const values = { client, name: `p${number}`, type: 'CSV_UPLOAD', disabled: false, run_trigger: 'NEVER' }
    const { id } = await db
      .insertInto('data_pipelines')
      .values({ ...values, schema_id: schema.id, table_name: 'cases' })
      .returning('id')
      .executeTakeFirstOrThrow()
    return { id, client, schema: schema.schema_name, table: 'cases' }
  }

  async function upload(pipeline: Pipeline, content: string | Buffer): Promise<object> {
    const file = {
      uid: randomUUID(),
      name: 'cases.csv',
      size: Buffer.byteLength(content),
      sha256: hash('sha256', content),
    }
    await writeFile(getUploadPath(filesDirectory, file.uid), content)
    await db.deleteFrom('uploaded_files').where('pipeline_id', '=', pipeline.id).execute()
    await db
      .insertInto('uploaded_files')
      .values({ ...file, pipeline_id: pipeline.id })
      .execute()
    return { file }
  }

  return {
    db,
    queue,
    warehouses,
    readers,
    filesDirectory,
    environment: {
      PIPELINE_DATABASE_URL: database.url,
      WAREHOUSE_DATABASE_URL: server.adminUrl,
      IDENTITY_URL: 'http://127.0.0.1:1',
      SECRET_KEYS: keys,
      SERVICE_SECRET: randomBytes(24).toString('hex'),
      FILES_DIRECTORY: filesDirectory,
      WORKER_HEARTBEAT_SECONDS: String(heartbeatSeconds),
      WORKER_CONCURRENCY: '4',
      CLIENT_CONCURRENCY: '2',
    },
    pipeline,
    upload,
    async run({ id, client }, input = {}) {
      const request = { runnableId: id, client, trigger: 'MANUAL' as const, createdBy: null, input: input as never }
      return (await db.transaction().execute((trx) => createRun(trx, queue, request))).run
    },
    state: ({ id }) => db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    inside: async (client) => connected(superuserUrl(`c_${await keyOf(client)}`)),
    async isolateCatalogue() {
      const ring = keyRing(keys)
      const sealed = (role: 'load' | 'read') =>
        ring.seal(randomBytes(32).toString('base64url'), `warehouses.${role}_password:${catalogueClient}`)
      await db
        .insertInto('warehouses')
        .values({
          client: catalogueClient,
          key: `catalogue${randomBytes(5).toString('hex')}`,
          load_password: sealed('load'),
          read_password: sealed('read'),
        })
        .execute()
    },
    async [Symbol.asyncDispose]() {
      const keys = await db.selectFrom('warehouses').select('key').execute()
      await queue[Symbol.asyncDispose]()
      await warehouses[Symbol.asyncDispose]()
      await db.destroy()
      await server.remove(keys.map(({ key }) => key))
      await server[Symbol.asyncDispose]()
      await database.drop()
      await rm(filesDirectory, { recursive: true })
    },
  }
}
