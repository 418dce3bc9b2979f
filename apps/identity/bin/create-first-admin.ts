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
 * Creates the first super admin of a new installation. Prints one JSON line, which contains the password only if this
 * command generated it.
 */
await main(async () => {
  const { IDENTITY_DATABASE_URL, SLUICE_ADMIN_PASSWORD } = readDatabaseConfig()
  const chosen = SLUICE_ADMIN_PASSWORD ? assertUsablePassword(SLUICE_ADMIN_PASSWORD) : undefined
  const { db } = connect<DB>(IDENTITY_DATABASE_URL, { name: 'create-first-admin', max: 2 })
  try {
    await assertMigrated(db)
    await runMaintenanceOnce(db)
    const password = chosen ?? generatePassword()
    const created = !(await hasUsers(db)) && (await createFirstAdmin(db, password))
    const result = { username: firstUsername, ...(created && chosen === undefined && { password }) }
    process.stdout.write(`${JSON.stringify(result)}\n`)
  } finally {
    await db.destroy()
  }
})
