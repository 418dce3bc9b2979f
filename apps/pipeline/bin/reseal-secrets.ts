import { connect, resealAll } from '@sluice/database'
import { main } from '@sluice/process'
import { readResealConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { assertMigrated } from '../src/migrations.ts'
import { sealedColumns } from '../src/secrets/encrypted-secrets.ts'

/**
 * Encrypts every stored secret with the newest of SECRET_KEYS. Services can run at the same time. Exits with 1 if some
 * secrets still need an older key.
 */
await main(async () => {
  const { PIPELINE_DATABASE_URL, SECRET_KEYS } = readResealConfig()
  const { db } = connect<DB>(PIPELINE_DATABASE_URL, { name: 'reseal', max: 2 })
  try {
    await assertMigrated(db)
    const done = await resealAll(db, SECRET_KEYS, sealedColumns, (line) => process.stdout.write(`${line}\n`))
    if (!done) process.exitCode = 1
  } finally {
    await db.destroy()
  }
})
