import { textsIn } from '../../pages/language.ts'
import { endSession } from '../../sign-in/sessions.ts'
import { takeTicket } from '../../sign-in/federated/tickets.ts'
import type { Step } from './step.ts'
import { enter } from './finish.ts'
import { showPassword } from './password.ts'

/** Whoever comes back from there brings a ticket for the session that was opened for them, or nothing that helps. */
export async function takeFederated(step: Step): Promise<void> {
  const { db, request, interaction, application, language } = step
  const { ticket } = request.query
  const entered = typeof ticket === 'string' ? await takeTicket(db, ticket, interaction.uid) : undefined
  if (entered?.user.client === application.tenant) return enter(step, entered)
  if (entered) await endSession(db, entered.session.uid, 'SIGNED_OUT')
  // What it is exactly is in the audit. Nothing that stands in an address is shown.
  const texts = textsIn(language)
  const broughtProblem = !entered && request.query['problem'] !== undefined
  const message = broughtProblem ? texts.application.federated : texts.signIn.refused
  await showPassword(step, 401, { message })
}
