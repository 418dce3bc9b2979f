import type { ChildProcess } from 'node:child_process'
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findInstalledPostgres } from './binaries.ts'
import type { Identity } from './certificates.ts'
import { explainFailure } from './explain-failure.ts'
import { freePort } from './free-port.ts'
import { initialiseCluster, SUPERUSER } from './initialise.ts'
import { stopStaleServer } from './clear-stale-server.ts'
import { type OsUser, unprivilegedUser } from './os-user.ts'
import { startServer } from './start-server.ts'
import { prepareFolders } from './accessible-folders.ts'

export type ClusterOptions = {
  /** The data folder. It is created if it does not exist. */
  folder: string
  /** The log file. Messages are appended. */
  log: string
  /** The superuser's password. It is set when the cluster is created, and `url` contains it. */
  password: string
  /** The preferred port of a new folder. If it is in use, the next free port is used. */
  port: number
  /** Server settings, as in postgresql.conf. */
  settings?: Record<string, string>
  /** The server's certificate. Without one, connections have no TLS. */
  tls?: Identity | undefined
  /** False for temporary clusters: data may be lost if the machine stops. Default: true. */
  durable?: boolean
}

/** A running embedded PostgreSQL, on 127.0.0.1 only. */
export type Cluster = AsyncDisposable & {
  port: number
  /** A file with rules that precede those of pg_hba.conf. It need not exist. */
  rulesFile: string
  /** Returns the superuser's connection string for a database. */
  url: (database: string) => string
  /** Resolves when the server has ended for any reason. */
  ended: Promise<void>
  /** Fast shutdown: ends sessions and writes data. Does nothing after the end. */
  stop: () => Promise<void>
  /** Immediate shutdown: the next start runs recovery. */
  kill: () => void
}

const LOOPBACK_ONLY = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }
/**
 * Errors of statements stay out of the log, because their messages, details and statements contain values. The level
 * `log` keeps the lines about starts, checkpoints and crashes; `terse` leaves the statement out of the line about a
 * crashed process.
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

/**
 * Starts PostgreSQL with a data folder, in 0.7 s for a new one and 0.1 s later. Throws UserError with a sentence for
 * the user.
 */
export const startCluster = async (options: ClusterOptions): Promise<Cluster> => {
  const durable = options.durable ?? true
  const user = unprivilegedUser()
  const folders = await prepareFolders(await findInstalledPostgres(), options.folder, user)
  const data = await initialiseCluster(folders, options.password, user, durable)
  await stopStaleServer(data)
  await includeRules(data)
  if (options.tls) await writeCertificate(data, options.tls, user)
  await mkdir(dirname(options.log), { recursive: true })
  const portFile = join(folders.data, 'port')
  const remembered = Number(await readFile(portFile, 'utf8').catch(() => options.port))
  for (let port = remembered, tries = 20; ; tries--) {
    port = await freePort(port)
    const settings = {
      ...LOOPBACK_ONLY,
      ...LOG_WITHOUT_VALUES,
      port: String(port),
      ...(durable ? {} : NOT_DURABLE),
      ...(options.tls && { ssl: 'on' }),
      ...options.settings,
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const start = await startServer(folders.programs, data, flags, options.log, user)
    if ('server' in start) {
      await writeFile(portFile, String(port))
      return createCluster(start.server, port, options.password, join(folders.data, RULES_FILE))
    }
    if (tries === 0 || !isTransient(start.output)) throw explainFailure('postgres', start.output)
    await delay(500)
  }
}

/** Returns whether a retry may help, because another process took the port or a killed server is still ending. */
const isTransient = (output: string): boolean => /could not bind|pre-existing shared memory block/.test(output)

/** The name of the file with further rules, in the parent folder of the cluster. */
const RULES_FILE = 'reader-rules.conf'

/** Lets pg_hba.conf include the rules file. The path is relative, because the folder may be copied. */
const includeRules = async (data: string): Promise<void> => {
  const file = join(data, 'pg_hba.conf')
  const line = `include_if_exists "../${RULES_FILE}"\n`
  const rules = await readFile(file, 'utf8')
  if (!rules.startsWith(line)) await writeFile(file, `${line}${rules}`)
}

/** Writes the certificate and its key where PostgreSQL expects them. It refuses a key that others can read. */
const writeCertificate = async (
  data: string,
  { certificate, key }: Identity,
  user: OsUser | undefined,
): Promise<void> => {
  for (const [name, text] of [
    ['server.crt', certificate],
    ['server.key', key],
  ] as const) {
    const file = join(data, name)
    await writeFile(file, text, { mode: 0o600 })
    if (user) await chown(file, user.uid, user.gid)
  }
}

const createCluster = (server: ChildProcess, port: number, password: string, rulesFile: string): Cluster => {
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    server.kill('SIGINT')
    const quitTimer = setTimeout(() => server.kill('SIGQUIT'), 30_000)
    await ended
    clearTimeout(quitTimer)
  }
  const url = (database: string): string => connectionString(port, SUPERUSER, password, database)
  return { port, rulesFile, url, ended, stop, kill: () => void server.kill('SIGQUIT'), [Symbol.asyncDispose]: stop }
}

/** Returns the connection string of a database. Loopback connections have no TLS, whatever PGSSLMODE is. */
export const connectionString = (port: number, role: string, password: string, database: string): string =>
  `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?sslmode=disable`
