import type { ChildProcess } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { installedPostgres } from './binaries.ts'
import { explainFailure } from './explain-failure.ts'
import { freePort } from './free-port.ts'
import { initialise, SUPERUSER } from './initialise.ts'
import { clearLeftOver } from './left-over.ts'
import { unprivilegedUser } from './os-user.ts'
import { startServer } from './server.ts'
import { shelter } from './shelter.ts'

export type ClusterOptions = {
  /** Folder of its data; made when absent. */
  folder: string
  /** File that its messages are appended to. */
  log: string
  /** The superuser's password: set when the cluster is made, used in `url`. */
  password: string
  /** The port to try first, unless the folder had one before; the next free one is taken when it is in use. */
  port: number
  /** Server settings, as in postgresql.conf. */
  settings?: Record<string, string>
  /** false: may lose its data when the machine stops; for throw-away clusters. */
  durable?: boolean
}

/** A running PostgreSQL of our own, on 127.0.0.1 only. */
export type Cluster = AsyncDisposable & {
  port: number
  /** The superuser's connection string for one of its databases. */
  url: (database: string) => string
  /** Settles when the server has ended, whoever ended it. */
  ended: Promise<void>
  /** Fast shutdown: sessions end, data is written. Harmless when it has ended. */
  stop: () => Promise<void>
  /** Immediate shutdown: nothing is finished, the next start recovers. */
  kill: () => void
}

const LOOPBACK_ONLY = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }
/**
 * Errors of statements stay out of the log, because their messages, details and statements contain values. The level `log` keeps
 * the lines about starts, checkpoints and crashes; `terse` leaves the statement out of the line about a crashed process.
 */
const LOG_WITHOUT_VALUES = {
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
}
const NOT_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
}

/** Starts PostgreSQL on a folder; 0.7 s for a new one, 0.1 s after. Throws Refusal with a sentence for a person. */
export const startCluster = async (options: ClusterOptions): Promise<Cluster> => {
  const durable = options.durable ?? true
  const user = unprivilegedUser()
  const home = await shelter(await installedPostgres(), options.folder, user)
  const data = await initialise(home, options.password, user, durable)
  await clearLeftOver(data)
  await mkdir(dirname(options.log), { recursive: true })
  const portFile = join(home.data, 'port')
  const remembered = Number(await readFile(portFile, 'utf8').catch(() => options.port))
  for (let port = remembered, tries = 20; ; tries--) {
    port = await freePort(port)
    const settings = {
      ...LOOPBACK_ONLY,
      ...LOG_WITHOUT_VALUES,
      port: String(port),
      ...(durable ? {} : NOT_DURABLE),
      ...options.settings,
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const start = await startServer(home.native, data, flags, options.log, user)
    if ('server' in start) {
      await writeFile(portFile, String(port))
      return clusterOf(start.server, port, options.password)
    }
    if (tries === 0 || !isPassing(start.said)) throw explainFailure('postgres', start.said)
    await delay(500)
  }
}

/** Another process took the port since we looked, or the processes of a killed server have not all gone yet. */
const isPassing = (said: string): boolean => /could not bind|pre-existing shared memory block/.test(said)

const clusterOf = (server: ChildProcess, port: number, password: string): Cluster => {
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    server.kill('SIGINT')
    const hard = setTimeout(() => server.kill('SIGQUIT'), 30_000)
    await ended
    clearTimeout(hard)
  }
  const url = (database: string): string => connectionString(port, SUPERUSER, password, database)
  return { port, url, ended, stop, kill: () => void server.kill('SIGQUIT'), [Symbol.asyncDispose]: stop }
}

/** How to reach a database of an embedded cluster; no TLS on the loopback, whatever PGSSLMODE says. */
export const connectionString = (port: number, role: string, password: string, database: string): string =>
  `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?sslmode=disable`
