import { textsIn } from '../../pages/language.ts'
import { transaction } from '@sluice/database'
import { endUnused } from '../../sign-in/end-unused.ts'
import { takeHandover } from '../../sign-in/federated/handovers.ts'
import { factsOf, type Step } from './step.ts'
import { enter } from './finish.ts'
import { showPassword } from './password.ts'

/** Whoever comes back from there brings a ticket for the session that was opened for them, or nothing that helps. */
export async function takeFederated(step: Step): Promise<void> {
  const { db, request, interaction, application, language } = step
  const { ticket } = request.query
  const entered =
    typeof ticket === 'string' ? await takeHandover(db, ticket, interaction.uid, factsOf(step)) : undefined
  if (entered?.user.client === application.tenant) return enter(step, entered)
  if (entered)
    await transaction(db, (trx) => endUnused(trx, entered, 'the application is of another organisation', factsOf(step)))
  // What it is exactly is in the audit. Nothing that stands in an address is shown.
  const texts = textsIn(language)
  const broughtProblem = !entered && request.query['problem'] !== undefined
  const message = broughtProblem ? texts.application.federated : texts.signIn.refused
  await showPassword(step, 401, { message })
}
