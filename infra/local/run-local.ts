import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pc from 'picocolors'
import type { Programs } from '../bundle/bundled-programs.ts'
import { migrateAndStart, inspectorPorts, type Mode } from './start-installation.ts'
import { prepareDatabases } from './databases.ts'
import { assertDiskSpace } from './assert-disk-space.ts'
import { programEnvironment } from './program-environment.ts'
import { acquireStartLock } from './start-lock.ts'
import { assertPortsAvailable } from './assert-ports-available.ts'
import { startPostgres } from './start-postgres.ts'
import { restartOnChange } from './restart-on-change.ts'
import { saveSecrets, readOrCreateSecrets } from './secrets.ts'
import type { Service } from './supervise-service.ts'
import type { Settings } from './settings.ts'
import { watchStopSignals } from './stop-signal.ts'
import { type Admin, formatSummary } from './start-summary.ts'

const printWarning = (line: string): void => console.log(`${pc.yellow('▲')} ${line}`)

/**
 * Starts PostgreSQL, the services and the worker, and prints a summary. Returns when all have stopped after a stop
 * signal. If the start fails, stops everything and throws UserError.
 */
export const runLocal = async (settings: Settings, programs: Programs, mode: Mode = {}): Promise<void> => {
  const startedAt = performance.now()
  await mkdir(join(settings.state, 'files'), { recursive: true })
  await assertDiskSpace(settings.state)
  await using started = new AsyncDisposableStack()
  started.defer(await acquireStartLock(settings.state))
  await assertPortsAvailable(settings)

  let kill = (): void => {}
  const stopped = watchStopSignals(() => kill())
  const stopAnnounced = new Promise<void>((resolve) => {
    stopped.addEventListener('abort', () => {
      console.log(
        pc.dim(
          '\nStopping: running work is finished or returned to the queue (25 s at most). Press Ctrl-C again to end at once.',
        ),
      )
      resolve()
    })
  })
  const secrets = await readOrCreateSecrets(settings.state)
  console.log(pc.dim('Starting PostgreSQL, identity, pipeline and its worker…'))
  const ready = programs.ready()
  // Awaited below; this handler prevents an unhandled rejection until then.
  ready.catch(() => {})
  const postgres = started.use(await startPostgres(settings, secrets, printWarning))
  kill = () => postgres.kill()
  const databases = await prepareDatabases(postgres, secrets)
  const env = programEnvironment(settings, secrets, databases, postgres.rulesFile)
  const services: Service[] = []
  started.defer(async () => void (await Promise.all(services.map((service) => service.stop()))))
  try {
    await ready
    const admin = await migrateAndStart(
      { settings, programs, env, superuserUrl: postgres.url('postgres'), printWarning, stopped, mode },
      services,
    )
    if (admin.password)
      await saveSecrets(settings.state, { ...secrets, admin: { username: admin.username, password: admin.password } })
    started.defer(await writeLocalFile(settings, admin))
    console.log(formatSummary(settings, admin, secrets.admin !== undefined, (performance.now() - startedAt) / 1000))
    if (mode.restartOnChange) {
      started.use(restartOnChange({ root: settings.root, services, printWarning }))
      console.log(pc.dim('  Saved sources in apps/ and packages/ restart the services that run them.\n'))
    }
    if (mode.inspect) console.log(`${describeDebuggers()}\n`)
  } catch (error) {
    if (!stopped.aborted) throw error
  }
  await stopAnnounced
}

const describeDebuggers = (): string =>
  Object.entries(inspectorPorts)
    .map(([name, port]) => `  ${pc.dim(`Debugger of ${name}:`)} 127.0.0.1:${port}`)
    .join('\n')

/**
 * Writes the addresses of this installation for other commands (npm run demo). Returns the function that deletes them.
 */
const writeLocalFile = async (settings: Settings, { username }: Admin): Promise<() => Promise<void>> => {
  const file = join(settings.state, 'local.json')
  const content = {
    process: process.pid,
    identityUrl: settings.identityPublicUrl,
    pipelineUrl: settings.pipelinePublicUrl,
    admin: { username },
  }
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`)
  return () => rm(file, { force: true })
}
