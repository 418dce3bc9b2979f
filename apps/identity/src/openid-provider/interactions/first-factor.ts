import { readPageTexts } from '../../pages/choose-language.ts'
import { setOrganisationCookie } from '../../pages/organisation-cookie.ts'
import { sendPage } from '../../pages/send-page.ts'
import { type SignInFacts, renderSignInPage } from '../../pages/sign-in-page.ts'
import { parsePublicAddress } from '../../public-address.ts'
import { isNotSignedIn, signIn } from '../../sign-in/password/password-sign-in.ts'
import { type InteractionStep, readAuditFacts, finishLogin } from './interaction-step.ts'
import { setTicketCookie } from './second-factor.ts'
import { type RawBuilder, sql } from 'kysely'
import { transaction } from '@sluice/database'
import { endUnusedSession } from '../../sign-in/sessions/sessions.ts'
import { consumeHandoverTicket } from '../../sign-in/federated/session-handover-tickets.ts'

/** Shows the page for username and password, or redirects to the organisation's SSO provider. */
export const showPasswordPage = (step: InteractionStep): Promise<void> => sendPasswordPage(step, 200, {})

/** Sends the page with the sign-in form and the links to SSO providers. */
export async function sendPasswordPage(
  step: InteractionStep,
  status: number,
  pageFacts: Pick<SignInFacts, 'username' | 'message' | 'fieldErrors'>,
): Promise<void> {
  const { config, prefix, base, csrf, request, response, language, application, interaction, targets } = step
  const { organisation } = application
  const hint = interaction.params['login_hint']
  const page = renderSignInPage({
    prefix,
    language,
    organisation,
    application: application.name,
    action: `${base}/login`,
    csrf: csrf.issue(request, response),
    ...(await findSsoOptions(step)),
    ...(typeof hint === 'string' && { username: hint.slice(0, 255) }),
    ...pageFacts,
  })
  // The password-reset page reads this cookie.
  if (organisation) setOrganisationCookie(response, organisation, parsePublicAddress(config.IDENTITY_PUBLIC_URL).secure)
  sendPage(response, status, page, { formAction: targets })
}

/**
 * Returns links to the SSO providers of the application's organisation. A built-in application belongs to no
 * organisation. So its page has a form in which the user enters the code of an organisation. The form submits to the
 * same page, which then also has the links of that organisation.
 */
async function findSsoOptions(step: InteractionStep): Promise<Pick<SignInFacts, 'providers' | 'organisationForm'>> {
  const { application, base, request, language } = step
  if (application.tenant !== undefined)
    return { providers: await listProviderLinks(step, sql`clients.uid = ${application.tenant}`) }
  const { organisation } = request.query
  const code = typeof organisation === 'string' ? organisation.trim().slice(0, 255) : ''
  if (code === '') return { organisationForm: { action: base } }
  const providers = await listProviderLinks(step, sql`lower(clients.code) = lower(${code}) and not clients.disabled`)
  if (providers.length > 0) return { providers, organisationForm: { action: base, code } }
  const error = readPageTexts(language).signIn.organisationUnknown
  return { providers, organisationForm: { action: base, code, error } }
}

/**
 * Handles the submitted sign-in form. After a correct password, continues the application's request, or redirects to
 * the page for the second factor. Otherwise sends the form again with a message.
 */
export async function submitPassword(step: InteractionStep): Promise<void> {
  const { request, response, audited, language, application, base } = step
  const { username = '', password = '' } = request.body as Record<string, string | undefined>
  const pageTexts = readPageTexts(language).signIn
  if (!isFilledIn(username) || !isFilledIn(password)) {
    const fieldErrors = {
      ...(!isFilledIn(username) && { username: pageTexts.usernameMissing }),
      ...(!isFilledIn(password) && { password: pageTexts.passwordMissing }),
    }
    return sendPasswordPage(step, 400, {
      username: typeof username === 'string' ? username.slice(0, 255) : '',
      fieldErrors,
    })
  }
  try {
    const result = await audited('auth.login', request, response, (context) =>
      signIn({ username: username.trim(), password }, { ...context, expectedClient: application.tenant }),
    )
    if (result.kind === 'signed-in') return await finishLogin(step, result)
    setTicketCookie(step, result)
    response.redirect(303, `${base}/code`)
  } catch (error) {
    if (!isNotSignedIn(error)) throw error
    await sendPasswordPage(step, 401, { username, message: pageTexts.refused })
  }
}

const isFilledIn = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 1000

/**
 * Returns links to the SSO providers of the organisations that meet a condition on `clients`. The provider sends the
 * browser back to this interaction.
 */
async function listProviderLinks(
  { db, interaction: { uid: interaction }, csrf, prefix, request, response }: InteractionStep,
  condition: RawBuilder<unknown>,
): Promise<{ href: string; label: string }[]> {
  const { rows } = await sql<{ code: string; domain: string }>`
    select clients.code, provider_configs.client_domain as domain
    from sso_provider_configs provider_configs join clients on clients.uid = provider_configs.client
    where ${condition} and provider_configs.client_id is not null`.execute(db)
  const query = new URLSearchParams({ interaction, mark: csrf.issueLinkProof(request, response, interaction) })
  return rows.map(({ code, domain }) => ({
    href: `${prefix}/api/v1/auth/sso/${encodeURIComponent(code)}?${query.toString()}`,
    label: URL.canParse(domain) ? new URL(domain).host : domain,
  }))
}

/**
 * Handles the browser's return from an SSO provider. With a valid ticket, continues the application's request in the
 * session that the ticket names. Without one, sends the sign-in form with a message. Ends the session if its user
 * belongs to another organisation than the application.
 */
export async function resumeFederatedLogin(step: InteractionStep): Promise<void> {
  const { db, request, interaction, application, language } = step
  const { ticket } = request.query
  const auditFacts = readAuditFacts(step)
  const login =
    typeof ticket === 'string' ? await consumeHandoverTicket(db, ticket, interaction.uid, auditFacts) : undefined
  const admitsAllUsers = application.tenant === undefined
  if (login && (admitsAllUsers || login.user.client === application.tenant)) return finishLogin(step, login)
  if (login)
    await transaction(db, (trx) =>
      endUnusedSession(trx, login, 'the application is of another organisation', auditFacts),
    )
  // The audit log has the reason. The page shows no text from the URL, because an attacker can create such a link.
  const texts = readPageTexts(language)
  const failedAtProvider = !login && request.query['problem'] !== undefined
  const message = failedAtProvider ? texts.application.federated : texts.signIn.refused
  await sendPasswordPage(step, 401, { message })
}
