import { parseArgs } from 'node:util'
import { connect } from '@sluice/database'
import { main } from '@sluice/process'
import { readResealConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { assertMigrated } from '../src/migrations.ts'
import { forgetPreviousKeys, rotateKeys } from '../src/sign-in/tokens/key-rotation.ts'

/**
 * Starts to sign with the next key; running services follow within a minute. `--at-once` does so even if the next key was
 * published less than an hour ago. `--forget-previous` deletes the previous keys, so that their tokens become invalid.
 */
await main(async () => {
  const { values } = parseArgs({
    options: { 'at-once': { type: 'boolean' }, 'forget-previous': { type: 'boolean' } },
  })
  const { IDENTITY_DATABASE_URL, SECRET_KEYS } = readResealConfig()
  const { db } = connect<DB>(IDENTITY_DATABASE_URL, { name: 'rotate-keys', max: 2 })
  try {
    await assertMigrated(db)
    const rotated = await rotateKeys(db, SECRET_KEYS, values['at-once'])
    process.stdout.write(
      rotated.outcome === 'rotated'
        ? `Key ${rotated.kid} signs from now on.\n`
        : `Key ${rotated.kid} is published and may sign from ${rotated.signsFrom.toISOString()}. Run this command again then, or with --at-once.\n`,
    )
    if (values['forget-previous'])
      process.stdout.write(`Withdrew ${await forgetPreviousKeys(db)} keys. Their tokens are invalid now.\n`)
  } finally {
    await db.destroy()
  }
})
