import { sql } from 'kysely'
import { selectRoleScopes } from '@sluice/contracts'
import { renderConsentPage } from '../../pages/consent-page.ts'
import { readPageTexts } from '../../pages/choose-language.ts'
import type { PageTexts } from '../../pages/texts/en.ts'
import { sendPage } from '../../pages/send-page.ts'
import { isBuiltIn } from '../storage/built-in-applications.ts'
import { addConsent } from '../storage/consents.ts'
import type { InteractionStep } from './interaction-step.ts'

interface MissingScopes {
  missingOIDCScope?: string[]
  missingResourceScopes?: Record<string, string[]>
}

/** Shows the consent page for the requested scopes that the user has not granted before. */
export async function showConsentPage(step: InteractionStep): Promise<void> {
  const { prefix, base, csrf, request, response, language, application, targets } = step
  const user = await readUser(step)
  const page = renderConsentPage({
    prefix,
    language,
    organisation: { name: user.organisation },
    application: application.name,
    user,
    action: `${base}/consent`,
    csrf: csrf.issue(request, response),
    scopes: describeScopes(listRequestedScopes(step), readPageTexts(language)),
  })
  sendPage(response, 200, page, { formAction: targets })
}

/** Returns the scopes with the texts that the page shows. All applications get `openid`, so the page omits it. */
function describeScopes(scopes: readonly string[], { scopes: scopeTexts, consent: consentTexts }: PageTexts) {
  const described = scopes
    .filter((scope) => scope !== 'openid')
    .map((scope) => ({ name: scope, description: (scopeTexts as Record<string, string>)[scope] ?? '' }))
  // A scope that grants a role also gives access to the account data.
  const grantsRole = selectRoleScopes(scopes).length > 0
  return grantsRole ? [{ name: 'account', description: consentTexts.account }, ...described] : described
}

interface ConsentingUser {
  name: string
  username: string
  client: string
  organisation: string
}

async function readUser({ db, interaction }: InteractionStep): Promise<ConsentingUser> {
  const { rows } = await sql<ConsentingUser>`
    select users.name, users.username, users.client, clients.name as organisation
    from users join clients on clients.uid = users.client
    where users.uid = ${interaction.session?.accountId}`.execute(db)
  if (!rows[0]) throw new Error('a consent page needs a signed-in user')
  return rows[0]
}

/**
 * Handles the submitted consent form. The value `allow` of its field `decision` grants the requested scopes; any other
 * value denies them. Then continues the application's request.
 */
export async function submitConsent(step: InteractionStep): Promise<void> {
  const { provider, interaction, application, request, response, audited } = step
  const user = interaction.session?.accountId
  if (interaction.prompt.name !== 'consent' || user === undefined) return response.redirect(303, step.base)
  const allowed = (request.body as { decision?: unknown }).decision === 'allow'
  const scopes = listRequestedScopes(step)
  const { client } = await readUser(step)
  await audited('oidc.consent', request, response, (context) =>
    context.write(async (trx) => {
      if (allowed) await addConsent(trx, { user, application: application.id }, scopes)
      const details = { outcome: allowed ? 'allowed' : 'denied', scopes }
      context.request.audit(application.id, details, { user, client })
    }),
  )
  const result = allowed ? { consent: {} } : { error: 'access_denied', error_description: 'the user did not allow it' }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
}

/**
 * Returns the requested scopes that need the user's consent: those not granted before, or all if the application asks
 * for consent again. A built-in application always needs consent to all of them, because any program can use its client
 * id.
 */
function listRequestedScopes({ interaction, application }: InteractionStep): string[] {
  const { missingOIDCScope = [], missingResourceScopes = {} } = interaction.prompt.details as MissingScopes
  const missing = [...missingOIDCScope, ...Object.values(missingResourceScopes).flat()]
  const { scope } = interaction.params
  const requested = typeof scope === 'string' ? scope.split(' ') : []
  const isPartial = missing.length > 0 && !isBuiltIn(application.id)
  return isPartial ? missing : requested.filter((scope) => application.scopes.includes(scope))
}
