import { connect } from '@sluice/database'
import { main, StartProblem } from '@sluice/process'
import { readDatabaseConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { assertMigrated } from '../src/migrations.ts'
import { removeSecondFactorOf } from '../src/commands/remove-second-factor.ts'

/** Removes the second factor of a user who lost it: `remove-second-factor.ts <username>`. */
await main(async () => {
  const [username] = process.argv.slice(2)
  if (!username) throw new StartProblem('The username is missing. Usage: remove-second-factor.ts <username>')
  const { IDENTITY_DATABASE_URL } = readDatabaseConfig()
  const { db } = connect<DB>(IDENTITY_DATABASE_URL, { name: 'remove-second-factor', max: 1 })
  try {
    await assertMigrated(db)
    const removed = await removeSecondFactorOf(db, username)
    process.stdout.write(
      removed ? `${username} now signs in without a second factor.\n` : `${username} had no second factor.\n`,
    )
  } finally {
    await db.destroy()
  }
})
