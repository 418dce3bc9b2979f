import { migrate } from '@sluice/database'
import { main } from '@sluice/process'
import { readDatabaseConfig } from '../src/config.ts'
import { migrationsFolder } from '../src/migrations.ts'

/** Applies the migrations that the identity database lacks. */
await main(async () => {
  const { IDENTITY_DATABASE_URL } = readDatabaseConfig()
  const applied = await migrate(IDENTITY_DATABASE_URL, migrationsFolder)
  process.stdout.write(
    applied.length > 0 ? `Applied ${applied.join(', ')}.\n` : 'The identity database is up to date.\n',
  )
})
