import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testDatabase } from '@sluice/testing'
import { joinIdentity, type Identity } from '../join-shared-identity-service.ts'
import { freePort } from '@sluice/testing/free-port'
import { ready, runProgram, startProgram, type Program } from '../start-program.ts'
import { connected, scratchServer } from '@sluice/warehouses/testing/scratch-warehouse'

/** Sluice as people run it: every part a process of its own, started by its own command. */
export interface Installation {
  identity: Identity
  pipelineUrl: string
  api: Program
  worker: Program
  /** Another worker, where the first one is gone. */
  anotherWorker(): Promise<Program>
  stop(): Promise<void>
}

/** `more` is put in its environment. */
export async function startInstallation(more: Record<string, string> = {}): Promise<Installation> {
  const database = await testDatabase()
  const warehouse = await scratchServer()
  const filesDirectory = await mkdtemp(join(tmpdir(), 'sluice-end-to-end-'))
  const [apiPort, workerPort] = [await freePort(), await freePort()]
  const identity = await joinIdentity()
  const environment = {
    PIPELINE_DATABASE_URL: database.url,
    WAREHOUSE_DATABASE_URL: warehouse.adminUrl,
    IDENTITY_URL: identity.url,
    IDENTITY_PUBLIC_URL: identity.url,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: identity.serviceSecret,
    FILES_DIRECTORY: filesDirectory,
    PIPELINE_PORT: String(apiPort),
    WORKER_PORT: String(workerPort),
    WORKER_CONCURRENCY: '4',
    ...more,
  }
  await runProgram('pipeline/bin/migrate.ts', environment)
  const pipelineUrl = `http://127.0.0.1:${apiPort}`
  const api = startProgram('pipeline/bin/serve.ts', environment)
  const workers: Program[] = []
  const anotherWorker = async () => {
    const started = startProgram('pipeline/bin/run-worker.ts', environment)
    workers.push(started)
    await ready(started, `http://127.0.0.1:${workerPort}`)
    return started
  }
  const [worker] = await Promise.all([anotherWorker(), ready(api, pipelineUrl)])

  return {
    identity,
    pipelineUrl,
    api,
    worker,
    anotherWorker,
    async stop() {
      await Promise.all([api.stop(), ...workers.map((one) => one.stop())])
      await warehouse.remove(await warehouseKeys(database.url))
      await warehouse[Symbol.asyncDispose]()
      await database.drop()
      await rm(filesDirectory, { recursive: true })
    },
  }
}

async function warehouseKeys(databaseUrl: string): Promise<string[]> {
  await using own = await connected(databaseUrl)
  const { rows } = await own.query<{ key: string }>('select key from warehouses')
  return rows.map(({ key }) => key)
}
