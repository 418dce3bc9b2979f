import { migrate, MigrationProblem } from '@sluice/database'
import { main, StartProblem } from '@sluice/process'
import { readDatabaseConfig } from '../src/config.ts'
import { migrateQueue } from '../src/queue/pg-boss-queue.ts'
import { migrationsFolder } from '../src/migrations.ts'

/** Applies pending migrations of the pipeline database and of its queue. */
await main(async () => {
  const { PIPELINE_DATABASE_URL } = readDatabaseConfig()
  const applied = await migrate(PIPELINE_DATABASE_URL, migrationsFolder).catch(exitWithReason)
  await migrateQueue(PIPELINE_DATABASE_URL)
  process.stdout.write(applied.length > 0 ? `Applied ${applied.join(', ')}.\n` : 'The database is up to date.\n')
})

function exitWithReason(error: unknown): never {
  throw error instanceof MigrationProblem ? new StartProblem(error.message, { cause: error }) : error
}
