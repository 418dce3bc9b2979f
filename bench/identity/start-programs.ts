import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { memorySettings } from '../../infra/local/program-environment.ts'
import { type StartedProgram, startProgram } from '../../infra/local/start-program.ts'
import { root } from '../../infra/paths.ts'
import { freePort } from '../../infra/postgres/free-port.ts'
import { trackCompletion } from '../track-completion.ts'
import { programs } from '../bundled-programs.ts'

export interface Program extends AsyncDisposable {
  port: number
}

interface Started {
  file: string
  env: NodeJS.ProcessEnv
  /** A path that responds with 2xx or 404 when the program is ready. */
  alive: string
  /** Flags of Node. */
  flags?: string[]
}

const secrets = {
  SECRET_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  SERVICE_SECRET: randomBytes(24).toString('hex'),
}

let port = 17_100

/** Starts a program in production mode with the memory settings of the images. */
async function start(folder: string, { file, env, alive, flags = [] }: Started): Promise<Program> {
  port = await freePort(port + 1)
  const running = startProgram({
    file: resolve(root, file),
    log: join(folder, `${port}.log`),
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'production',
      ...memorySettings,
      NODE_OPTIONS: [memorySettings.NODE_OPTIONS, ...flags].join(' '),
      PORT: String(port),
      IDENTITY_PORT: String(port),
      ...env,
    },
  })
  await waitUntilReady(running, `http://127.0.0.1:${port}${alive}`, file)
  const stop = async (): Promise<void> => {
    running.child.kill('SIGTERM')
    await running.ended
  }
  return { port, [Symbol.asyncDispose]: stop }
}

async function waitUntilReady({ ended, lastErrorLines }: StartedProgram, url: string, file: string): Promise<void> {
  const program = trackCompletion(ended)
  for (const startedAt = Date.now(); Date.now() - startedAt < 30_000; await delay(50)) {
    if (program.done) break
    const response = await fetch(url).catch(() => undefined)
    if (response && response.status < 500) return
  }
  throw new Error(`${file} did not come up:\n${lastErrorLines()}`)
}

/** Starts the identity service. It writes a CPU profile into the folder `profiles` when it stops. */
export const startService = (folder: string, database: string, profiles?: string): Promise<Program> =>
  start(folder, {
    file: programs.file('identity', 'serve'),
    // The maximum, so that no token expires during a measure.
    env: { IDENTITY_DATABASE_URL: database, ACCESS_TOKEN_SECONDS: '900', ...secrets },
    alive: '/health/ready',
    flags: profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : [],
  })

export const startHandlers = (folder: string, database: string): Promise<Program> =>
  start(folder, { file: 'bench/identity/baseline/handlers.ts', env: { DATABASE_URL: database }, alive: '/' })

export const startProvider = (folder: string, database: string): Promise<Program> =>
  start(folder, {
    file: 'bench/identity/baseline/provider.ts',
    env: { DATABASE_URL: database },
    alive: '/.well-known/openid-configuration',
  })

/** Migrates a database to the newest version. */
export async function migrate(folder: string, database: string): Promise<void> {
  const { ended, lastErrorLines } = startProgram({
    file: programs.file('identity', 'migrate'),
    log: join(folder, 'migrate.log'),
    cwd: root,
    env: { PATH: process.env['PATH'], IDENTITY_DATABASE_URL: database, ...secrets },
  })
  const failure = await ended
  if (failure) throw new Error(`migrate.ts ended with ${failure}:\n${lastErrorLines()}`)
}
