import { randomBytes } from 'node:crypto'
import { spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { createRunningExports } from '../../src/exports/running-exports.ts'
import { connect } from '@sluice/database'
import { listen } from '@sluice/http-server'
import { createLogger, createMetrics, Redaction } from '@sluice/process'
import type { AddressInfo } from 'node:net'
import supertest, { type Test } from 'supertest'
import { pipelineApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import type { DB } from '../../src/database.ts'
import { openDestinations } from '../../src/destinations/destinations.ts'
import { openDatasets } from '../../src/warehouses/find-public-datasets.ts'
import { createConnectorRegistry } from '@sluice/connectors/registry/connector-registry'
import { identityLookups } from '../../src/identity/http-identity-lookups.ts'
import { readerEndpoints } from '../../src/warehouse-readers/reader-addresses.ts'
import { warehouseReaders } from '../../src/warehouse-readers/warehouse-readers.ts'
import { startStack } from '../worker/worker-stack.ts'
import { joinIdentity, type Person } from '../join-shared-identity-service.ts'
import { startGate } from './interruptible-proxy.ts'

export type Service = Awaited<ReturnType<typeof startService>>

/** Asks below `/api/v1` as one person. */
export type Asking = Record<'get' | 'post' | 'put' | 'delete' | 'patch', (path: string) => Test>

/** The whole pipeline service on a database of its own, listening, with the real identity service beside it. */
export async function startService({
  uploadLimit = 1_000_000,
  clientLimit = 1e12,
  heartbeatSeconds = 30,
  hbaInclude = '',
  exportSilenceMs = 60_000,
} = {}) {
  const stack = await startStack({ heartbeatSeconds })
  await stack.isolateCatalogue()
  const identity = await joinIdentity()
  const environment: Record<string, string> = {
    ...stack.environment,
    IDENTITY_URL: identity.url,
    IDENTITY_PUBLIC_URL: identity.url,
    SERVICE_SECRET: identity.serviceSecret,
    // Databases beside this test are read from; others inside the network are not.
    OUTGOING_ALLOWED: '127.0.0.1',
    WAREHOUSE_HBA_INCLUDE: hbaInclude,
    WAREHOUSE_PUBLIC_CERTIFICATE: `-----BEGIN CERTIFICATE-----\n${randomBytes(48).toString('base64')}\n-----END CERTIFICATE-----`,
  }
  const identityGate = await startGate(identity.port)
  const databaseGate = await startGate(Number(new URL(environment['PIPELINE_DATABASE_URL']!).port))
  const databaseUrl = Object.assign(new URL(environment['PIPELINE_DATABASE_URL']!), { port: databaseGate.port }).href
  const config = readConfig({
    ...environment,
    PIPELINE_DATABASE_URL: databaseUrl,
    IDENTITY_URL: `http://127.0.0.1:${identityGate.port}`,
  })

  let log = ''
  const redaction = new Redaction()
  redaction.add(...config.secrets)
  const logger = createLogger({
    name: 'pipeline',
    level: 'info',
    redaction,
    destination: { write: (line) => void (log += line) },
  })
  const { db } = connect<DB>(databaseUrl, { name: 'pipeline-test' })

  const destinations = openDestinations({ allowed: config.OUTGOING_ALLOWED })

  /** The same service once more, knowing nobody yet, with these limits in bytes. */
  const serve = async (limits: { clientLimit?: number } = {}) => {
    const lookups = identityLookups(config)
    const { warehouses } = stack
    const { SECRET_KEYS } = config
    const parts = { db, keyRing: SECRET_KEYS, redaction, warehouses, identity: lookups, logger }
    const readers = warehouseReaders({ ...parts, endpoints: readerEndpoints(config) })
    const app = pipelineApp({
      db,
      config,
      logger,
      metrics: createMetrics('pipeline'),
      isStopping: () => false,
      identity: lookups,
      warehouses: stack.warehouses,
      readers,
      readerCertificate: config.WAREHOUSE_PUBLIC_CERTIFICATE,
      queue: stack.queue,
      sources: createConnectorRegistry({
        filesDirectory: config.FILES_DIRECTORY,
        allowed: config.OUTGOING_ALLOWED,
        datasets: openDatasets({ db, warehouses: stack.warehouses }),
      }),
      destinations,
      exports: createRunningExports(spoolDirectory(config.FILES_DIRECTORY), {
        diskBytes: 1e9,
        idleMs: 60_000,
        maxAgeMs: 3_600_000,
        silenceMs: exportSilenceMs,
      }),
      files: { directory: config.FILES_DIRECTORY, uploadLimit, clientLimit, ...limits },
    })
    const { server, close } = await listen(app, { port: 0, host: '127.0.0.1' })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const stop = () => {
      server.closeAllConnections()
      return close()
    }
    return { url, http: supertest(url), close: stop }
  }
  const { url, http, close } = await serve()

  return {
    url,
    http,
    serve,
    stack,
    /** What a worker beside it is started with. */
    environment,
    identity,
    identityGate,
    databaseGate,
    config,
    log: () => log,
    as: (person: Pick<Person, 'token'>, by = http): Asking => bearing(by, person.token),
    async stop() {
      await close()
      await databaseGate.shut()
      await identityGate.shut()
      await destinations.close()
      await db.destroy()
      await stack[Symbol.asyncDispose]()
    },
  }
}

function bearing(http: ReturnType<typeof supertest>, token: string): Asking {
  const send = (method: keyof Asking) => (path: string) =>
    http[method](`/api/v1${path}`).set('authorization', `Bearer ${token}`)
  return { get: send('get'), post: send('post'), put: send('put'), delete: send('delete'), patch: send('patch') }
}

/** A schema as somebody would send it, with a name of its own. */
export function schemaBody(changes: object = {}) {
  return {
    name: `Schema ${randomBytes(6).toString('hex')}`,
    permanent: false,
    providerSchema: 'SQL_DATABASE_D',
    ...changes,
  }
}

/** Likewise a pipeline into a schema. */
export function pipelineBody(schema: string, changes: object = {}) {
  return {
    name: `Pipeline ${randomBytes(6).toString('hex')}`,
    type: 'CSV_UPLOAD',
    disabled: false,
    runTrigger: 'NEVER',
    dataWarehouseTarget: { schema: { id: schema } },
    ...changes,
  }
}
