import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServiceClient, serviceClient, signIn } from '@sluice/client'
import { pipelineOperations, type Schema } from '@sluice/contracts'
import { findOrCreateSchema } from '../../infra/demo/find-or-create.ts'
import { migrateAndStart } from '../../infra/local/start-installation.ts'
import { prepareDatabases } from '../../infra/local/databases.ts'
import { programEnvironment } from '../../infra/local/program-environment.ts'
import { startPostgres } from '../../infra/local/start-postgres.ts'
import { runningPrograms } from '../../infra/local/start-program.ts'
import { readOrCreateSecrets } from '../../infra/local/secrets.ts'
import { logFile, readSettings } from '../../infra/local/settings.ts'
import { type Service, startService } from '../../infra/local/supervise-service.ts'
import { root } from '../../infra/paths.ts'
import { freePort } from '../../infra/postgres/free-port.ts'
import { programs } from '../bundled-programs.ts'
import { recordedEnvironment } from './event-loop-record.ts'

/** A separate Sluice, started as `npm start` does, with superuser access to its PostgreSQL. */
export interface Installation extends AsyncDisposable {
  pipeline: ServiceClient
  pipelineUrl: string
  token(): Promise<string>
  schema: Schema
  /** Returns the superuser's connection string of a database. */
  databaseUrl(name: string): string
  /** The environment variables of its programs. */
  environment: NodeJS.ProcessEnv
  /** Process ids of the worker, and of the API of the pipeline service. */
  readonly workerPid: number
  readonly apiPid: number
  /** Replaces the worker by a new one. */
  restartWorker(): Promise<void>
  /** The log file of PostgreSQL. */
  postgresLog: string
  /** The temporary folder with all files of the installation. */
  folder: string
}

const password = 'a password that only measures'

/**
 * Starts an installation in a temporary folder and deletes the folder when it is disposed. PostgreSQL is durable, as in
 * production, so that Sluice and the other tools wait for the same disk.
 */
export async function startInstallation(): Promise<Installation> {
  const folder = join(tmpdir(), `sluice-bench-${process.pid}`)
  process.env['SLUICE_ADMIN_PASSWORD'] = password
  const ports = [await freePort(18_101), await freePort(18_201), await freePort(18_301)].map(String)
  const [IDENTITY_PORT, PIPELINE_PORT, WORKER_PORT] = ports
  const settings = readSettings({ IDENTITY_PORT, PIPELINE_PORT, WORKER_PORT }, root, folder)
  await using started = new AsyncDisposableStack()
  started.defer(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'files'), { recursive: true })
  await programs.ready()
  const secrets = await readOrCreateSecrets(folder)
  const postgres = started.use(await startPostgres(settings, secrets, console.warn))
  const environment = programEnvironment(settings, secrets, await prepareDatabases(postgres, secrets))
  const recorded = recordedEnvironment(folder)
  const env: NodeJS.ProcessEnv = {
    ...environment,
    ...recorded,
    NODE_OPTIONS: `${environment.NODE_OPTIONS} ${recorded.NODE_OPTIONS}`,
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    // The source databases are on this machine.
    OUTGOING_ALLOWED: '127.0.0.1',
  }
  const services: Service[] = []
  const stop = async () => void (await Promise.all(services.splice(0).map((service) => service.stop())))
  started.defer(stop)
  const stopped = new AbortController().signal
  const startServices = () =>
    migrateAndStart(
      { settings, programs, env, superuserUrl: postgres.url('postgres'), printWarning: console.warn, stopped },
      services,
    )
  await startServices()
  // The second start uses the compile cache, as the images do.
  await stop()
  await startServices()
  const session = await signIn({ identityUrl: `http://127.0.0.1:${IDENTITY_PORT}`, username: 'admin', password })
  const pipelineUrl = `http://127.0.0.1:${PIPELINE_PORT}`
  const token = () => session.token()
  const pipeline = serviceClient({ baseUrl: pipelineUrl, token, timeout: 60_000 })
  const schema = await findOrCreateSchema(pipeline, 'bench')
  async function restartWorker(): Promise<void> {
    const name = 'pipeline-worker'
    const index = services.findIndex((service) => service.name === name)
    await services[index]!.stop()
    const program = {
      file: programs.file('pipeline', 'run-worker'),
      log: logFile(settings, name),
      cwd: root,
      env,
    }
    const health = `http://127.0.0.1:${WORKER_PORT}/health/ready`
    services[index] = startService({ name, app: 'pipeline', program, health, printWarning: console.warn })
    await services[index].ready
  }
  const resources = started.move()
  return {
    pipeline,
    pipelineUrl,
    token,
    schema,
    databaseUrl: (name) => postgres.url(name),
    environment: env,
    get workerPid() {
      return findProcess('run-worker')
    },
    get apiPid() {
      return findProcess('serve')
    },
    restartWorker,
    postgresLog: logFile(settings, 'postgres'),
    folder,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Returns the process id of a running program of the pipeline service. */
function findProcess(name: string): number {
  const file = programs.file('pipeline', name)
  return [...runningPrograms].find(({ spawnargs }) => spawnargs.includes(file))!.pid!
}

export const { dataPipelines } = pipelineOperations
