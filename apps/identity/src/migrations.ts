import { resolve } from 'node:path'
import * as database from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from './database.ts'

export const migrationsFolder = resolve(import.meta.dirname, '../migrations')

/** Throws if the database lacks migrations that this version needs. */
export const assertMigrated = (db: Kysely<DB>): Promise<void> =>
  database.assertMigrated(db, migrationsFolder, 'IDENTITY_DATABASE_URL')
