import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartProblem } from '@sluice/process'
import { sql, type Kysely } from 'kysely'
import pg from 'pg'

/** The applied migrations and the migrations folder do not match, or a migration failed. */
export class MigrationProblem extends StartProblem {
  override readonly name: string = 'MigrationProblem'
}

/** The key of the advisory lock, a number that no other lock uses. */
const migrationLock = 7_314_501

/**
 * The first line of a migration that runs without a transaction. This is needed for `create index concurrently`, which
 * does not block writers. The statements run one after the other; each must end a line with a semicolon. They must be
 * repeatable, because after a kill between two of them, all are run again.
 */
const withoutTransaction = '-- without a transaction\n'

/**
 * Applies those `NNNN_name.sql` files of the folder that are not applied yet, in order. Each runs in its own
 * transaction, unless its first line says otherwise. Down migrations do not exist. A second process waits for the
 * first. Returns the names of the applied files.
 */
export async function migrate(connectionString: string, folder: string): Promise<string[]> {
  const client = new pg.Client({ connectionString, application_name: 'migrate', connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    await waitForLock(client)
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    const { rows } = await client.query<{ name: string; checksum: string }>('select name, checksum from migrations')
    const pending = pendingMigrations(migrationsIn(folder), new Map(rows.map((row) => [row.name, row.checksum])))
    for (const migration of pending) await applyMigration(client, migration)
    return pending.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

const lockPollMs = 200

/**
 * Takes the lock by polling. A statement that waits for the lock would hold a snapshot, and `create index concurrently`
 * in the other process would wait for that snapshot.
 */
async function waitForLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      migrationLock,
    ])
    if (rows[0]!.locked) return
    await sleep(lockPollMs)
  }
}

/**
 * Throws if the database lacks a migration of the folder. `url` is the name of the setting that contains the database's
 * address, for the message.
 */
export async function assertMigrated(db: Kysely<any>, folder: string, url: string): Promise<void> {
  const table = await sql<{ name: string | null }>`select to_regclass('migrations')::text as name`.execute(db)
  const applied = table.rows[0]?.name
    ? (await sql<{ name: string }>`select name from migrations`.execute(db)).rows.map(({ name }) => name)
    : []
  const missing = filesIn(folder).filter((name) => !applied.includes(name))
  if (missing.length > 0)
    throw new MigrationProblem(
      `The database of ${url} is not migrated (${missing.join(', ')} is missing): run bin/migrate.ts with the same ${url}, then start again.`,
    )
}

interface MigrationFile {
  name: string
  checksum: string
  text: string
}

function migrationsIn(folder: string): MigrationFile[] {
  return filesIn(folder).map((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
  })
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file))
    .toSorted()
}

function pendingMigrations(present: MigrationFile[], applied: ReadonlyMap<string, string>): MigrationFile[] {
  const unknown = [...applied.keys()].filter((name) => !present.some((migration) => migration.name === name))
  if (unknown.length > 0) {
    throw new MigrationProblem(
      `The database was migrated by a newer version (${unknown.join(', ')} is not known here): run that version or a later one.`,
    )
  }
  for (const { name, checksum } of present) {
    const appliedChecksum = applied.get(name)
    if (appliedChecksum && appliedChecksum !== checksum)
      throw new MigrationProblem(
        `Migration ${name} was changed after it was applied: restore the file, and write a new migration for the change.`,
      )
  }
  const pending = present.filter(({ name }) => !applied.has(name))
  const [first] = pending
  const last = [...applied.keys()].toSorted().at(-1)
  if (first && last && first.name < last) {
    throw new MigrationProblem(
      `Migration ${first.name} comes before ${last}, which is applied already: give it the next free number.`,
    )
  }
  return pending
}

async function applyMigration(client: pg.Client, { name, checksum, text }: MigrationFile): Promise<void> {
  const isTransaction = !text.startsWith(withoutTransaction)
  const statements = isTransaction
    ? ['begin', text]
    : text.split(/(?<=;)\n/).filter((statement) => statement.trim() !== '')
  try {
    for (const statement of statements) await client.query(statement)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
    if (isTransaction) await client.query('commit')
  } catch (error) {
    if (isTransaction) await client.query('rollback')
    throw new MigrationProblem(`Migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}
