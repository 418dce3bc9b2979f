import type { Programs } from '../bundle/programs.ts'
import { Refusal } from '../refusal.ts'
import { rotate } from './logs.ts'
import { runOnce } from './one-shot.ts'
import type { Program } from './program.ts'
import { type Service, startService } from './supervise.ts'
import { logFile, loopbackOf, type Settings } from './settings.ts'
import type { Admin } from './summary.ts'

type BringUp = {
  settings: Settings
  programs: Programs
  env: NodeJS.ProcessEnv
  /** Superuser's connection string of the warehouse's server. */
  superuserUrl: string
  say: (line: string) => void
  stopped: AbortSignal
  mode?: Mode
}

/** How `npm run dev` differs from `npm start`. */
export type Mode = {
  /** A saved source restarts the services that run it. */
  restartOnChange?: boolean
  /** Debuggers can attach to the services. */
  inspect?: boolean
}

/** Where debuggers attach, on 127.0.0.1. */
export const inspectorPorts: Record<string, number> = { identity: 9231, pipeline: 9232, 'pipeline-worker': 9233 }

/**
 * Migrates both databases, makes the first administrator and starts the three processes, as much at the same time as
 * possible; settles when all are ready. Every service started is put into `services` at once, so that the caller can
 * stop it however this ends. Throws Refusal with what a program printed last.
 */
export const bringUp = async (
  { settings, programs, env, superuserUrl, say, stopped, mode = {} }: BringUp,
  services: Service[],
): Promise<Admin> => {
  const failed = new AbortController()
  const off = AbortSignal.any([stopped, failed.signal])
  const program = (app: string, name: string, log: string, more: NodeJS.ProcessEnv = {}): Program => {
    const file = logFile(settings, log)
    rotate(file)
    return {
      file: programs.file(app, name),
      log: file,
      cwd: settings.root,
      env: { ...env, ...more },
    }
  }
  const migrate = (app: string) =>
    runOnce(`Migrating the ${app} database`, program(app, 'migrate', `${app}-migrate`), off)
  const start = (name: string, app: string, bin: string, port: number): Promise<void> => {
    off.throwIfAborted()
    const health = `http://${loopbackOf(settings)}:${port}/health/ready`
    const service = startService({
      name,
      app,
      program: { ...program(app, bin, name), inspectorPort: mode.inspect ? inspectorPorts[name] : undefined },
      health,
      say,
      waitForRestart: mode.restartOnChange,
    })
    services.push(service)
    return service.ready
  }
  const { IDENTITY_PORT, PIPELINE_PORT, WORKER_PORT } = settings.ports
  const identity = async (): Promise<Admin> => {
    await migrate('identity')
    const password = process.env['SLUICE_ADMIN_PASSWORD']
    const create = program('identity', 'create-first-admin', 'identity-first-admin', {
      SLUICE_ADMIN_PASSWORD: password,
    })
    const [said] = await Promise.all([
      runOnce('Making the first administrator', create, off),
      start('identity', 'identity', 'serve', IDENTITY_PORT),
    ])
    return adminOf(said)
  }
  const pipeline = async (): Promise<void> => {
    const forWarehouse = {
      WAREHOUSE_SUPERUSER_URL: superuserUrl,
      WAREHOUSE_CLOSED_DATABASES: 'identity,pipeline,postgres,template1',
    }
    const prepare = program('pipeline', 'prepare-warehouse', 'pipeline-prepare-warehouse', forWarehouse)
    await Promise.all([migrate('pipeline'), runOnce('Preparing the warehouse', prepare, off)])
    await Promise.all([
      start('pipeline', 'pipeline', 'serve', PIPELINE_PORT),
      start('pipeline-worker', 'pipeline', 'work', WORKER_PORT),
    ])
  }
  // The first failure ends the other half; its own sentence is the one to show.
  const give = (error: unknown): never => {
    failed.abort(error)
    throw error
  }
  const halves = await Promise.allSettled([identity().catch(give), pipeline().catch(give)])
  if (failed.signal.aborted) throw failed.signal.reason
  const [{ value }] = halves as [PromiseFulfilledResult<Admin>, unknown]
  return value
}

/** Reads what create-first-admin prints: `{"username":"admin"}`, with the password when it has just made the user. */
const adminOf = (said: string): Admin => {
  const line = said.trim().split('\n').at(-1) ?? ''
  try {
    const { username, password } = JSON.parse(line) as { username: string; password?: string }
    return { username, ...(password && { password }) }
  } catch (error) {
    throw new Refusal(`Making the first administrator did not say whom it made: ${line.slice(0, 200)}`, {
      cause: error,
    })
  }
}
