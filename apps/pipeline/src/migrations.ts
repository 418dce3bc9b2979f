import { resolve } from 'node:path'
import * as database from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from './database.ts'

/** The folder of this service's migrations. */
export const migrationsFolder = resolve(import.meta.dirname, '../migrations')

/** Throws if the database does not have the migrations that this version needs. */
export const assertMigrated = (db: Kysely<DB>): Promise<void> =>
  database.assertMigrated(db, migrationsFolder, 'PIPELINE_DATABASE_URL')
