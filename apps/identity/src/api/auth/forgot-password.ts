import type { ForgotPasswordBody } from '@sluice/contracts'
import { admitForgotten, noteForgotten } from '../../sign-in/forgotten.ts'
import type { LinkContext } from './link-context.ts'

/** What asking for a new password needs: what an operation has, and what a page can make. */
export type ForgottenContext = Omit<LinkContext, 'config'> & {
  request: LinkContext['request'] & { id: string; address: string }
}

/**
 * Takes note that somebody forgot their password: the same, and as fast, whoever it is and whether there is one. The mail is
 * made a moment later, by `answerForgotten`. Too many tries are 429.
 */
export async function forgotPassword({ username }: ForgotPasswordBody, context: ForgottenContext): Promise<void> {
  const { db, write, request } = context
  await admitForgotten(db, username, request.address)
  await write(async (trx) => {
    await noteForgotten(trx, username, request)
    // What was typed may be a password in the wrong field.
    request.audit(null, { outcome: 'noted' })
  })
}
