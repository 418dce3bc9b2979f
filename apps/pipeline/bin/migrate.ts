import { join } from 'node:path'
import { migrate } from '@sluice/database'
import { main } from '@sluice/process'
import { readConfig } from '../src/config.ts'
import { migrateQueue } from '../src/engine/queue/pg-boss-queue.ts'

await main(async () => {
  const { PIPELINE_DATABASE_URL } = readConfig()
  const applied = await migrate(PIPELINE_DATABASE_URL, join(import.meta.dirname, '../migrations'))
  await migrateQueue(PIPELINE_DATABASE_URL)
  process.stdout.write(applied.length > 0 ? `Applied ${applied.join(', ')}.\n` : 'The database is up to date.\n')
})
