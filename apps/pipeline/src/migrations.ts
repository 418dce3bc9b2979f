import { resolve } from 'node:path'
import * as database from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from './database.ts'

/** The directory with the migrations of this service. */
export const migrationsFolder = resolve(import.meta.dirname, '../migrations')

/** Throws if the database lacks migrations that this version needs. */
export const assertMigrated = (db: Kysely<DB>): Promise<void> =>
  database.assertMigrated(db, migrationsFolder, 'PIPELINE_DATABASE_URL')
