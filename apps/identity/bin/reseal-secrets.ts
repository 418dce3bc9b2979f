import { connect, resealAll } from '@sluice/database'
import { main } from '@sluice/process'
import { readResealConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { assertMigrated } from '../src/migrations.ts'
import { sealedColumns } from '../src/stored-secrets.ts'

/** Encrypts all stored secrets with the newest of SECRET_KEYS. Exits with 1 if some secrets still need an older key. */
await main(async () => {
  const { IDENTITY_DATABASE_URL, SECRET_KEYS } = readResealConfig()
  const { db } = connect<DB>(IDENTITY_DATABASE_URL, { name: 'reseal', max: 2 })
  try {
    await assertMigrated(db)
    const done = await resealAll(db, SECRET_KEYS, sealedColumns, (line) => process.stdout.write(`${line}\n`))
    if (!done) process.exitCode = 1
  } finally {
    await db.destroy()
  }
})
