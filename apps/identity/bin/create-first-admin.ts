import { connect } from '@sluice/database'
import { main } from '@sluice/process'
import { readDatabaseConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import {
  createFirstAdmin,
  assertUsablePassword,
  firstUsername,
  hasUsers,
  generatePassword,
} from '../src/commands/create-first-admin.ts'
import { runMaintenanceOnce } from '../src/maintenance/maintenance.ts'
import { assertMigrated } from '../src/migrations.ts'

/**
 * Makes the first super admin of a new installation. Prints one JSON line: with the password only when it was made here,
 * which is the one time that it can be read.
 */
await main(async () => {
  const { IDENTITY_DATABASE_URL, SLUICE_ADMIN_PASSWORD } = readDatabaseConfig()
  const chosen = SLUICE_ADMIN_PASSWORD ? assertUsablePassword(SLUICE_ADMIN_PASSWORD) : undefined
  const { db } = connect<DB>(IDENTITY_DATABASE_URL, { name: 'create-first-admin', max: 2 })
  try {
    await assertMigrated(db)
    await runMaintenanceOnce(db)
    const password = chosen ?? generatePassword()
    const made = !(await hasUsers(db)) && (await createFirstAdmin(db, password))
    const answer = { username: firstUsername, ...(made && chosen === undefined && { password }) }
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  } finally {
    await db.destroy()
  }
})
