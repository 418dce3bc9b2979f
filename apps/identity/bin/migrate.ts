import { MigrationProblem, migrate } from '@sluice/database'
import { main, StartProblem } from '@sluice/process'
import { readDatabaseConfig } from '../src/config.ts'
import { migrationsFolder } from '../src/migrations.ts'

/** Brings the identity database up to this version. */
await main(async () => {
  const { IDENTITY_DATABASE_URL } = readDatabaseConfig()
  try {
    const applied = await migrate(IDENTITY_DATABASE_URL, migrationsFolder)
    process.stdout.write(
      applied.length > 0 ? `Applied ${applied.join(', ')}.\n` : 'The identity database is up to date.\n',
    )
  } catch (error) {
    if (error instanceof MigrationProblem) throw new StartProblem(error.message, { cause: error })
    throw error
  }
})
