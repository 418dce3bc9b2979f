import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql, type Kysely } from 'kysely'
import { StartProblem } from '@sluice/process'
import type { DB } from './database.ts'

/** Where this service's migrations are. */
export const migrationsFolder = resolve(import.meta.dirname, '../migrations')

/** Refuses to start on a database that is not as this version needs it. */
export async function demandMigrated(db: Kysely<DB>): Promise<void> {
  const wanted = readdirSync(migrationsFolder).filter((file) => file.endsWith('.sql'))
  const there = await sql<{ name: string | null }>`select to_regclass('migrations')::text as name`.execute(db)
  const applied = there.rows[0]?.name
    ? (await sql<{ name: string }>`select name from migrations`.execute(db)).rows.map(({ name }) => name)
    : []
  const missing = wanted.filter((name) => !applied.includes(name))
  if (missing.length > 0)
    throw new StartProblem(
      `The identity database is not migrated (${missing.join(', ')} is missing): run bin/migrate.ts with the same IDENTITY_DATABASE_URL, then start again.`,
    )
}
