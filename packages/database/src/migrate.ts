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
 * The first line of a migration that runs without a transaction. `create index concurrently`, which does not block
 * writers, needs this. The statements of the file run one after the other. Each must end with a semicolon at the end of
 * a line. They must be repeatable: after a kill between two statements, all of them run again.
 */
const withoutTransaction = '-- without a transaction\n'

/**
 * Applies those `NNNN_name.sql` files of the folder that are not applied yet, in the order of their names. Returns the
 * names of the files that it applied. Each file runs in a transaction of its own, unless its first line is `-- without
 * a transaction`. Down migrations do not exist. If two processes migrate at the same time, one of them waits until the
 * other has finished.
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
    const appliedChecksums = new Map(rows.map((row) => [row.name, row.checksum]))
    const pending = listPendingMigrations(listMigrationFiles(folder), appliedChecksums)
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
 * Throws if the database lacks a migration of the folder. The message names the setting that contains the database's
 * address (`settingName`, for example `DATABASE_URL`).
 */
export async function assertMigrated(db: Kysely<any>, folder: string, settingName: string): Promise<void> {
  const applied = await listAppliedMigrations(db)
  const missing = listMigrationNames(folder).filter((name) => !applied.includes(name))
  if (missing.length === 0) return
  throw new MigrationProblem(
    `The database of ${settingName} is not migrated (${missing.join(', ')} is missing): run bin/migrate.ts with the same ${settingName}, then start again.`,
  )
}

async function listAppliedMigrations(db: Kysely<any>): Promise<string[]> {
  const table = await sql<{ name: string | null }>`select to_regclass('migrations')::text as name`.execute(db)
  const tableExists = Boolean(table.rows[0]?.name)
  if (!tableExists) return []
  const { rows } = await sql<{ name: string }>`select name from migrations`.execute(db)
  return rows.map(({ name }) => name)
}

interface MigrationFile {
  name: string
  checksum: string
  text: string
}

function listMigrationFiles(folder: string): MigrationFile[] {
  return listMigrationNames(folder).map((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
  })
}

/** Lists the names of the `NNNN_name.sql` files of a folder, in order. */
function listMigrationNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file))
    .toSorted()
}

/**
 * Returns the files that are not applied yet. `applied` maps the names of applied migrations to their checksums. Throws
 * if an applied migration has no file or another checksum, or if a new file would come before an applied one.
 */
function listPendingMigrations(files: MigrationFile[], applied: ReadonlyMap<string, string>): MigrationFile[] {
  const unknownNames = [...applied.keys()].filter((name) => !files.some((file) => file.name === name))
  if (unknownNames.length > 0) {
    throw new MigrationProblem(
      `The database was migrated by a newer version (${unknownNames.join(', ')} is not known here): run that version or a later one.`,
    )
  }
  for (const { name, checksum } of files) {
    const appliedChecksum = applied.get(name)
    if (appliedChecksum && appliedChecksum !== checksum)
      throw new MigrationProblem(
        `Migration ${name} was changed after it was applied: restore the file, and write a new migration for the change.`,
      )
  }
  const pending = files.filter(({ name }) => !applied.has(name))
  const [firstPending] = pending
  const lastApplied = [...applied.keys()].toSorted().at(-1)
  if (firstPending && lastApplied && firstPending.name < lastApplied) {
    throw new MigrationProblem(
      `Migration ${firstPending.name} comes before ${lastApplied}, which is applied already: give it the next free number.`,
    )
  }
  return pending
}

/** Splits SQL text into statements. Each ends with a semicolon at the end of a line. */
const splitStatements = (text: string): string[] =>
  text.split(/(?<=;)\n/).filter((statement) => statement.trim() !== '')

/**
 * Executes the statements of a migration and records it as applied. Throws `MigrationProblem`. If the migration runs
 * without a transaction, the statements before a failed one keep their effect.
 */
async function applyMigration(client: pg.Client, { name, checksum, text }: MigrationFile): Promise<void> {
  const usesTransaction = !text.startsWith(withoutTransaction)
  const statements = usesTransaction ? ['begin', text] : splitStatements(text)
  try {
    for (const statement of statements) await client.query(statement)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
    if (usesTransaction) await client.query('commit')
  } catch (error) {
    if (usesTransaction) await client.query('rollback')
    throw new MigrationProblem(`Migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}
