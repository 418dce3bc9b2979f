import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ServiceClient, serviceClient } from '@sluice/client'
import { pipelineOperations, type Schema } from '@sluice/contracts'
import { findOrCreateSchema } from '../../infra/demo/find-or-create.ts'
import { signIn } from '../../infra/demo/session.ts'
import { bringUp } from '../../infra/local/bring-up.ts'
import { prepareDatabases } from '../../infra/local/databases.ts'
import { programEnvironment } from '../../infra/local/environment.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { runningPrograms } from '../../infra/local/program.ts'
import { secretsOf } from '../../infra/local/secrets.ts'
import { readSettings } from '../../infra/local/settings.ts'
import type { Service } from '../../infra/local/supervise.ts'
import { root } from '../../infra/paths.ts'
import { freePort } from '../../infra/postgres/free-port.ts'
import { programs } from '../programs.ts'

/** A Sluice of its own, as `npm start` brings it up, and the superuser's way into its PostgreSQL. */
export interface Installation extends AsyncDisposable {
  pipeline: ServiceClient
  pipelineUrl: string
  token(): Promise<string>
  schema: Schema
  /** Of a database by name. */
  databaseUrl(name: string): string
  /** What its programs are started with. */
  environment: NodeJS.ProcessEnv
  /** The process that loads. */
  workerPid: number
}

const password = 'a password that only measures'

/** Everything below `folder`. Durable, as in production: peers and product wait for the same disk. */
export async function startInstallation(folder: string): Promise<Installation> {
  process.env['SLUICE_ADMIN_PASSWORD'] = password
  const ports = [await freePort(18_101), await freePort(18_201), await freePort(18_301)].map(String)
  const [IDENTITY_PORT, PIPELINE_PORT, WORKER_PORT] = ports
  const settings = readSettings({ IDENTITY_PORT, PIPELINE_PORT, WORKER_PORT }, root, folder)
  await mkdir(join(folder, 'files'), { recursive: true })
  await programs.ready()
  const secrets = await secretsOf(folder)
  await using started = new AsyncDisposableStack()
  const postgres = started.use(await startPostgres(settings, secrets, console.warn))
  const env = {
    ...programEnvironment(settings, secrets, await prepareDatabases(postgres, secrets)),
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    // The databases that are read from are on this machine, too.
    OUTGOING_ALLOWED: '127.0.0.1',
  }
  const services: Service[] = []
  const stop = async () => void (await Promise.all(services.splice(0).map((service) => service.stop())))
  started.defer(stop)
  const stopped = new AbortController().signal
  const up = () =>
    bringUp({ settings, programs, env, superuserUrl: postgres.url('postgres'), say: console.warn, stopped }, services)
  await up()
  // Again: the first start compiles, which the images have behind them.
  await stop()
  await up()
  const session = started.use(await signIn(`http://127.0.0.1:${IDENTITY_PORT}`, 'admin', password))
  const pipelineUrl = `http://127.0.0.1:${PIPELINE_PORT}`
  const token = () => session.token()
  const pipeline = serviceClient({ baseUrl: pipelineUrl, token, timeout: 60_000 })
  const schema = await findOrCreateSchema(pipeline, 'bench')
  const worker = [...runningPrograms].find(({ spawnargs }) =>
    spawnargs.some((each) => each === programs.file('pipeline', 'work')),
  )
  const kept = started.move()
  return {
    pipeline,
    pipelineUrl,
    token,
    schema,
    databaseUrl: (name) => postgres.url(name),
    environment: env,
    workerPid: worker!.pid!,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

export const { dataPipelines } = pipelineOperations
