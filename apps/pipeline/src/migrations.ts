import { resolve } from 'node:path'
import * as database from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from './database.ts'

/** Where this service's migrations are. */
export const migrationsFolder = resolve(import.meta.dirname, '../migrations')

/** Refuses to start on a database that is not as this version needs it. */
export const assertMigrated = (db: Kysely<DB>): Promise<void> =>
  database.assertMigrated(db, migrationsFolder, 'PIPELINE_DATABASE_URL')
