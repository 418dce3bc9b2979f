import { parseArgs } from 'node:util'
import { connect } from '@sluice/database'
import { main } from '@sluice/process'
import { readResealConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { assertMigrated } from '../src/migrations.ts'
import { forgetPreviousKeys, rotateKeys } from '../src/sign-in/tokens/key-rotation.ts'

/**
 * Makes the next key the signing key; running services use it within a minute. `--at-once` does so even if the next key
 * was published less than an hour ago. `--forget-previous` deletes the previous keys and thus invalidates their tokens.
 */
await main(async () => {
  const { values } = parseArgs({
    options: { 'at-once': { type: 'boolean' }, 'forget-previous': { type: 'boolean' } },
  })
  const { IDENTITY_DATABASE_URL, SECRET_KEYS } = readResealConfig()
  const { db } = connect<DB>(IDENTITY_DATABASE_URL, { name: 'rotate-keys', max: 2 })
  try {
    await assertMigrated(db)
    const rotated = await rotateKeys(db, SECRET_KEYS, { immediately: values['at-once'] })
    process.stdout.write(
      rotated.outcome === 'rotated'
        ? `Key ${rotated.kid} signs all new tokens from now on.\n`
        : `Key ${rotated.kid} is published but does not sign yet. Run this command again after ${rotated.signsFrom.toISOString()}, or now with --at-once.\n`,
    )
    if (values['forget-previous'])
      process.stdout.write(`Deleted ${await forgetPreviousKeys(db)} previous keys. Their tokens are invalid now.\n`)
  } finally {
    await db.destroy()
  }
})
