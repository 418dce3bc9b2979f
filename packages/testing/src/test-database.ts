import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '@sluice/database'
import { Client } from 'pg'

export type TestDatabase = AsyncDisposable & {
  /** The connection string of a migrated database without rows. Only the caller uses it. */
  url: string
  /** Closes all connections and drops the database. */
  drop: () => Promise<void>
}

/** An additional step for a template database after its migrations, for example creating the tables of a job queue. */
export type TemplateStep = {
  /** Texts that determine the result of `apply`. If one of them changes, a new template is built. */
  inputs: readonly string[]
  apply: (url: string) => Promise<void>
}

type DatabaseContent = {
  /** The folder of .sql files. Without it, the database is empty. */
  migrations?: string
  step?: TemplateStep
}

/**
 * Returns a migrated database for one test file. The first caller builds a template for its migrations and step. The
 * others copy the template, which takes 20 ms. Needs TEST_DATABASE_URL, the connection string of a superuser. With
 * SLUICE_KEEP_DATABASES, the database is kept and its connection string printed.
 *
 * Throws the errors of the migrations and of the step. Drops databases of killed test runs.
 */
export const testDatabase = async ({ migrations, step }: DatabaseContent = {}): Promise<TestDatabase> => {
  const server = serverUrl()
  const admin = await connect(server)
  const template = migrations === undefined ? 'template0' : await templateOf(admin, server, { migrations, step })
  const keep = Boolean(process.env['SLUICE_KEEP_DATABASES'])
  const name = `${keep ? KEPT : CLONE}${randomBytes(9).toString('hex')}`
  await holdCloneLock(admin, name)
  // Copying files takes 15 ms including two checkpoints, because fsync is off. Copying through the WAL takes 30 to 100
  // ms.
  await admin.query(`create database ${name} template ${template} strategy file_copy`)
  await dropLeftOver(admin, name)
  const url = databaseUrl(server, name)
  if (keep)
    process.stderr.write(`Kept for as long as the test server runs: ${url} (${process.env['SLUICE_TEST_FILE']})\n`)
  const drop = async (): Promise<void> => {
    if (!keep) {
      await waitForDisconnects(admin, name)
      await admin.query(`drop database if exists ${name} with (force)`)
    }
    await admin.end()
  }
  return { url, drop, [Symbol.asyncDispose]: drop }
}

/** Milliseconds that the drop of a database waits for connections which a test left open. */
const disconnectTimeoutMs = 2_000

/**
 * Waits until all connections are closed. Otherwise the drop would close a connection before its pool does, and the
 * test would fail.
 */
const waitForDisconnects = async (admin: Client, name: string): Promise<void> => {
  for (const end = Date.now() + disconnectTimeoutMs; Date.now() < end; await sleep(10)) {
    const { rowCount } = await admin.query('select from pg_stat_activity where datname = $1', [name])
    if (!rowCount) return
  }
}

const CLONE = 'sluice_test_'
/** Prefixes of database names. Kept databases have another prefix than copies, which the next run removes. */
const KEPT = 'sluice_kept_'
const TEMPLATE = 'sluice_template_'

/** The first keys of the advisory locks for copies and templates. The second key is a hash of the database's name. */
const [CLONES, TEMPLATES] = [5_301, 5_302]

const serverUrl = (): string => {
  const url = process.env['TEST_DATABASE_URL']
  if (url) return url
  throw new Error(
    'This test needs PostgreSQL and TEST_DATABASE_URL is not set: run it with "npm test -- <package or file pattern>" in ' +
      'the root folder, which starts one, or set TEST_DATABASE_URL to the connection string of a superuser.',
  )
}

const connect = async (connectionString: string): Promise<Client> => {
  const client = new Client({ connectionString, application_name: 'sluice-test' })
  // When a run is interrupted, the server may stop first. An unhandled error event would then end this process.
  client.on('error', () => {})
  await client.connect()
  // A test that forgets to drop its database must not keep the process alive.
  const { connection } = client as unknown as { connection: { unref: () => void } }
  connection.unref()
  return client
}

const databaseUrl = (server: string, name: string): string =>
  Object.assign(new URL(server), { pathname: `/${name}` }).href

type TemplateContent = { migrations: string; step: TemplateStep | undefined }

/**
 * Returns the template for this content, and builds it if necessary. Processes that need it at the same time wait for
 * the first.
 */
const templateOf = async (admin: Client, server: string, content: TemplateContent): Promise<string> => {
  const name = `${TEMPLATE}${contentHash(content)}`
  await admin.query('select pg_advisory_lock($1, hashtext($2))', [TEMPLATES, name])
  try {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
    if (rowCount === 0) await build(admin, server, content, name)
  } finally {
    await admin.query('select pg_advisory_unlock($1, hashtext($2))', [TEMPLATES, name])
  }
  return name
}

/**
 * Builds a template under a temporary name until it is complete, so that a killed process leaves no incomplete
 * template. Drops the incomplete database if a migration or the step fails.
 */
const build = async (admin: Client, server: string, content: TemplateContent, name: string): Promise<void> => {
  const unfinished = `${name}_unfinished`
  await admin.query(`drop database if exists ${unfinished} with (force)`)
  await admin.query(`create database ${unfinished} template template0 strategy file_copy`)
  const url = databaseUrl(server, unfinished)
  try {
    await migrate(url, content.migrations)
    await content.step?.apply(url)
  } catch (error) {
    await admin.query(`drop database ${unfinished} with (force)`)
    throw error
  }
  await admin.query(`alter database ${unfinished} allow_connections false`)
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${unfinished}'`)
  await admin.query(`alter database ${unfinished} rename to ${name}`)
}

const contentHash = ({ migrations, step }: TemplateContent): string => {
  const hash = createHash('sha256')
  for (const file of readdirSync(migrations)
    .filter((file) => file.endsWith('.sql'))
    .sort()) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(migrations, file)))
      .update('\0')
  }
  for (const input of step?.inputs ?? []) hash.update(`\0${input}\0`)
  return hash.digest('hex').slice(0, 20)
}

/**
 * Takes a lock that marks a copy as used while its owner's session is open. PostgreSQL releases the lock when the owner
 * exits.
 */
const holdCloneLock = (admin: Client, name: string) =>
  admin.query('select pg_advisory_lock($1, hashtext($2))', [CLONES, name])

const dropLeftOver = async (admin: Client, own: string): Promise<void> => {
  const clones = await admin.query('select datname from pg_database where starts_with(datname, $1) and datname <> $2', [
    CLONE,
    own,
  ])
  for (const { datname } of clones.rows) {
    const lock = [CLONES, datname]
    const { rows } = await admin.query('select pg_try_advisory_lock($1, hashtext($2)) as abandoned', lock)
    if (!rows[0].abandoned) continue
    await admin.query(`drop database if exists ${datname} with (force)`)
    await admin.query('select pg_advisory_unlock($1, hashtext($2))', lock)
  }
}
