import type { Programs } from '../bundle/bundled-programs.ts'
import { UserError } from '../user-error.ts'
import { rotateLog } from './rotate-logs.ts'
import { runOnce } from './run-to-completion.ts'
import type { Program } from './start-program.ts'
import { type Service, startService } from './supervise-service.ts'
import { logFile, loopbackAddress, type Settings } from './settings.ts'
import type { Admin } from './start-summary.ts'

type InstallationOptions = {
  settings: Settings
  programs: Programs
  env: NodeJS.ProcessEnv
  /** Connection string of the warehouse server's superuser. */
  superuserUrl: string
  printWarning: (line: string) => void
  stopped: AbortSignal
  mode?: Mode
}

/** The options of `npm run dev`. */
export type Mode = {
  /** Restarts the services that use a source when it is saved. */
  restartOnChange?: boolean
  /** Opens a debugger port for each service. */
  inspect?: boolean
}

/** The debugger ports, on 127.0.0.1. */
export const inspectorPorts: Record<string, number> = { identity: 9231, pipeline: 9232, 'pipeline-worker': 9233 }

/**
 * Migrates both databases, creates the first administrator and starts the three processes, in parallel where possible.
 * Resolves when all are ready. Adds every started service to `services` immediately, so that the caller can stop them
 * after a failure. Throws UserError with the last output of a program.
 */
export const migrateAndStart = async (
  { settings, programs, env, superuserUrl, printWarning, stopped, mode = {} }: InstallationOptions,
  services: Service[],
): Promise<Admin> => {
  const failed = new AbortController()
  const stopOrFailure = AbortSignal.any([stopped, failed.signal])
  const program = (app: string, name: string, log: string, more: NodeJS.ProcessEnv = {}): Program => {
    const file = logFile(settings, log)
    rotateLog(file)
    return {
      file: programs.file(app, name),
      log: file,
      cwd: settings.root,
      env: { ...env, ...more },
    }
  }
  const migrate = (app: string) =>
    runOnce(`Migrating the ${app} database`, program(app, 'migrate', `${app}-migrate`), stopOrFailure)
  // Async, so that a stop rejects the promise. A synchronous exception would leave other rejections unhandled.
  const start = async (name: string, app: string, bin: string, port: number): Promise<void> => {
    stopOrFailure.throwIfAborted()
    const health = `http://${loopbackAddress(settings)}:${port}/health/ready`
    const service = startService({
      name,
      app,
      program: { ...program(app, bin, name), inspectorPort: mode.inspect ? inspectorPorts[name] : undefined },
      health,
      printWarning,
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
    const [output] = await Promise.all([
      runOnce('Creating the first administrator', create, stopOrFailure),
      start('identity', 'identity', 'serve', IDENTITY_PORT),
    ])
    return parseAdmin(output)
  }
  const pipeline = async (): Promise<void> => {
    const forWarehouse = {
      WAREHOUSE_SUPERUSER_URL: superuserUrl,
      WAREHOUSE_CLOSED_DATABASES: 'identity,pipeline,postgres,template1',
    }
    const prepare = program('pipeline', 'prepare-warehouse', 'pipeline-prepare-warehouse', forWarehouse)
    await Promise.all([migrate('pipeline'), runOnce('Preparing the warehouse', prepare, stopOrFailure)])
    await Promise.all([
      start('pipeline', 'pipeline', 'serve', PIPELINE_PORT),
      start('pipeline-worker', 'pipeline', 'run-worker', WORKER_PORT),
    ])
  }
  // The first failure stops the other service, and its message is shown.
  const abortOthers = (error: unknown): never => {
    failed.abort(error)
    throw error
  }
  const results = await Promise.allSettled([identity().catch(abortOthers), pipeline().catch(abortOthers)])
  if (failed.signal.aborted) throw failed.signal.reason
  const [{ value }] = results as [PromiseFulfilledResult<Admin>, unknown]
  return value
}

/** Parses the output of create-first-admin: `{"username":"admin"}`, with the password if it created the user. */
const parseAdmin = (output: string): Admin => {
  const line = output.trim().split('\n').at(-1) ?? ''
  try {
    const { username, password } = JSON.parse(line) as { username: string; password?: string }
    return { username, ...(password && { password }) }
  } catch (error) {
    throw new UserError(`The program create-first-admin printed no administrator: ${line.slice(0, 200)}`, {
      cause: error,
    })
  }
}
