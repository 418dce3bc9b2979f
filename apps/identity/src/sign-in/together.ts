import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { countingTries } from './admit.ts'
import { openingAtOnce } from './open-at-once.ts'
import type { SessionLives } from './sessions.ts'

/** What sign-ins that come in a crowd do in statements that they share. */
export type Together = ReturnType<typeof signingInTogether>

export const signingInTogether = (db: Kysely<DB>, lives: SessionLives) => ({
  count: countingTries(db),
  open: openingAtOnce(db, lives),
})
