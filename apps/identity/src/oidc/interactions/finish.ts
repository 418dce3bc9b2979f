import { sql } from 'kysely'
import { transaction } from '@sluice/database'
import { endUnused } from '../../sign-in/end-unused.ts'
import { factsOf, type Step } from './step.ts'

interface Entered {
  user: { uid: string; client: string }
  session: { uid: string }
  amr: string[]
}

/**
 * Goes back to the application's request with a user. Who was signed in already and has shown that it is still them goes
 * on in the session they had, with all that hangs from it.
 */
export async function enter(step: Step, { user, session, amr }: Entered): Promise<void> {
  const { db, provider, interaction, request, response } = step
  const before = interaction.session
  const goesOn = before?.accountId === user.uid && before.uid !== undefined && before.uid !== session.uid
  if (goesOn) {
    await transaction(db, async (trx) => {
      await endUnused(trx, { user, session }, 'an open session goes on', factsOf(step))
      await sql`update sessions set last_used_at = now() where uid = ${before.uid}`.execute(trx)
    })
  }
  // Until the browser is closed: it may be on a desk that others use.
  const remember = false
  const login = {
    remember,
    accountId: user.uid,
    session: goesOn ? before.uid : session.uid,
    amr,
    ts: Math.floor(Date.now() / 1000),
  }
  await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false })
}
