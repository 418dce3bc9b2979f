import type { Transaction } from 'kysely'
import type { SsoCallbackQuery, SsoStartQuery, TokenPair } from '@sluice/contracts'
import {
  JsonResponse,
  HtmlPage,
  Problem,
  RedirectResponse,
  ProblemPageRedirect,
  prefersHtml,
} from '@sluice/http-server'
import type { DB } from '../../database.ts'
import { chooseLanguageForLocales } from '../../pages/choose-language.ts'
import { buildPageHeaders } from '../../pages/send-page.ts'
import { renderTokenPage } from '../../pages/signed-in-page.ts'
import { parsePublicAddress } from '../../public-address.ts'
import { type FederatedUser, admitFederatedUser, countCallback } from '../../sign-in/federated/federated-user.ts'
import { createBrowserCookies } from '../../sign-in/federated/pending-sign-in-cookie.ts'
import {
  type FederatedPerson,
  createAuthorizationUrl,
  exchangeCallback,
} from '../../sign-in/federated/authorization-code-exchange.ts'
import { type ProviderConfig, buildCallbackUrl, findProviderConfig } from '../../sign-in/federated/provider-config.ts'
import {
  noSingleSignOnProblem,
  notAdmittedProblem,
  providerFailedProblem,
  toProviderProblem,
  unknownSignInProblem,
} from '../../sign-in/federated/provider-problem.ts'
import { issueHandoverTicket } from '../../sign-in/federated/session-handover-tickets.ts'
import {
  type PendingSignIn,
  createPendingSignIn,
  isSameBrowser,
  parseState,
  consumeState,
} from '../../sign-in/federated/pending-sign-in.ts'
import { addRefreshToken } from '../../sign-in/sessions/refresh-tokens.ts'
import { startSession } from '../../sign-in/sessions/sessions.ts'
import { subtractFailure } from '../../sign-in/throttle/throttle.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { issueTokens } from './issue-tokens.ts'
import { isOpenInteraction } from '../../openid-provider/storage/oidc-adapter.ts'
import { createCsrfGuard } from '../../csrf.ts'

/**
 * Ends a sign-in at a provider. Returns tokens as JSON, or a page that names the signed-in user if the Accept header
 * prefers HTML. If the sign-in started on a page of the OpenID Provider, redirects the browser back to that page, with
 * a ticket for the session or with `?problem=<code>`. The audit log records all errors.
 */
export async function finishSso(
  query: SsoCallbackQuery,
  input: IdentityRequestContext,
): Promise<JsonResponse<TokenPair> | HtmlPage | RedirectResponse> {
  const { db, request } = input
  const { pending, secret, clearCookieHeader } = readPendingSignIn(query, input)

  // Throttle before the state is consumed, so that a throttled browser can retry with the same state and cookie.
  const throttleKey = await countCallback(db, request.address).catch((error: unknown) =>
    redirectToInteraction(error, pending, input, {}),
  )
  if (throttleKey instanceof ProblemPageRedirect) return throttleKey
  if (!(await consumeState(db, query.state, pending))) throw unknownSignInProblem()
  try {
    const provider = await readProvider(pending, input)
    const signedIn = await signInAtProvider(provider, { state: query.state, secret, pending, throttleKey }, input)
    if (signedIn.ticket !== undefined)
      return new RedirectResponse(buildInteractionUrl(pending, input, { ticket: signedIn.ticket }), clearCookieHeader)
    if (prefersHtml(request.stream.headers.accept))
      return new HtmlPage(renderSignedInPage(signedIn, input), { ...buildPageHeaders(), ...clearCookieHeader })
    return new JsonResponse(await issueTokens(input, signedIn), clearCookieHeader)
  } catch (error) {
    return redirectToInteraction(error, pending, input, clearCookieHeader)
  }
}

/**
 * Returns the pending sign-in of the `state` parameter, the secret from the browser's cookie, and the header that
 * deletes this cookie. Throws if the state is invalid, if another browser started the sign-in, or if the callback names
 * another provider than the one where the sign-in started, as in a mix-up attack (RFC 9207).
 */
function readPendingSignIn({ state, provider }: SsoCallbackQuery, { config, request }: IdentityRequestContext) {
  const pending = parseState(config.SECRET_KEYS, state)
  if (!pending || pending.config !== provider.toLowerCase()) throw unknownSignInProblem()
  const cookies = createBrowserCookies(new URL(buildCallbackUrl(config)))
  const secret = cookies.read(request.stream.headers.cookie, pending.browser)
  if (!secret || !isSameBrowser(pending, secret)) throw unknownSignInProblem()
  return { pending, secret, clearCookieHeader: { 'Set-Cookie': cookies.clear(pending.browser) } }
}

/**
 * Returns a redirect to the interaction page, which shows the problem. Throws the error again if the page cannot show
 * it: if the error is internal, or if the sign-in did not start on an interaction page.
 */
function redirectToInteraction(
  error: unknown,
  pending: PendingSignIn,
  input: IdentityRequestContext,
  headers: Record<string, string>,
): ProblemPageRedirect {
  const startedOnPage = pending.interaction !== undefined
  if (!startedOnPage || !(error instanceof Problem)) throw error
  const providerFailed = error.status === 502
  const isInternal = error.status >= 500 && !providerFailed
  if (isInternal) throw error
  return new ProblemPageRedirect(buildInteractionUrl(pending, input, { problem: error.code }), headers)
}

/** Returns the stored provider config of the sign-in. Throws 400 if its issuer changed since the sign-in started. */
async function readProvider(pending: PendingSignIn, { db, config }: IdentityRequestContext): Promise<ProviderConfig> {
  const provider = await findProviderConfig(db, config, { uid: pending.config })
  if (!provider || provider.issuer.href !== pending.issuer) throw unknownSignInProblem()
  return provider
}

const buildInteractionUrl = (
  { interaction }: PendingSignIn,
  { config }: IdentityRequestContext,
  query: Record<string, string>,
): string =>
  `${config.IDENTITY_PUBLIC_URL}/interaction/${interaction}/federated?${new URLSearchParams(query).toString()}`

/** Returns the HTML page with the refresh token, for a sign-in that no application started. */
function renderSignedInPage(
  {
    refreshToken,
    signedInUser,
  }: { refreshToken: string; signedInUser: Pick<FederatedUser, 'name' | 'username' | 'organisation'> },
  { config, request }: IdentityRequestContext,
): string {
  const { prefix } = parsePublicAddress(config.IDENTITY_PUBLIC_URL)
  return renderTokenPage({
    prefix,
    language: chooseLanguageForLocales(request.locales),
    organisation: { name: signedInUser.organisation },
    user: signedInUser,
    refreshToken,
    refreshUrl: `${config.IDENTITY_PUBLIC_URL}/api/v1/auth/refresh`,
    home: config.HOME_URL,
    action: `${prefix}/account/sign-out`,
  })
}

interface ProviderCallback {
  state: string
  /** The secret from the browser's cookie. */
  secret: string
  pending: PendingSignIn
  /** The key under which the throttle counted this callback as a failure. */
  throttleKey: string
}

/**
 * Exchanges the authorization code for the user's identity at the provider, checks that this user may sign in, and
 * opens a session. Audits every outcome.
 */
async function signInAtProvider(
  provider: ProviderConfig,
  { state, secret, pending, throttleKey }: ProviderCallback,
  input: IdentityRequestContext,
) {
  const { federation, request, write } = input
  const { search } = new URL(request.url, provider.redirectUri)
  const person = await exchangeCallback(provider, federation, { search, state, secret }).catch((error: unknown) =>
    auditProviderFailureAndThrow(error, provider, input),
  )
  const signedIn = await write(async (trx) => {
    const { user, refusal, activation } = await admitFederatedUser(trx, provider, person)
    const admittedUser = refusal === undefined ? user : undefined
    const opened = admittedUser && (await openSsoSession(trx, admittedUser, person, pending, input))
    if (opened) await subtractFailure(trx, throttleKey)
    const details = {
      outcome: refusal ?? 'signed in',
      ...(opened && { session: opened.session.uid }),
      ...toProviderAudit(provider),
      subject: person.subject,
      ssoId: person.ssoId,
      ...activation,
    }
    request.audit(user?.uid ?? null, details, { user: user?.uid, client: provider.client })
    return opened && { ...opened, user: admittedUser.uid, client: admittedUser.client, signedInUser: admittedUser }
  })
  // An error inside `write` would roll back the audit row, so this function throws afterwards.
  if (!signedIn) throw notAdmittedProblem()
  return signedIn
}

/** Audits an error of the provider and throws its problem response. Rethrows an internal error without an audit row. */
async function auditProviderFailureAndThrow(
  error: unknown,
  provider: ProviderConfig,
  { write, request }: IdentityRequestContext,
): Promise<never> {
  const problem = toProviderProblem(error)
  if (!problem) throw error
  const details = { outcome: problem.fault, reason: problem.message, ...toProviderAudit(provider) }
  await write(async () => request.audit(null, details, { client: provider.client }))
  throw providerFailedProblem(problem)
}

const toProviderAudit = ({ uid, issuer }: ProviderConfig) => ({ provider: uid, issuer: issuer.href })

/**
 * Opens the session. Returns a one-time ticket if the sign-in started on an interaction page, otherwise the session's
 * first refresh token.
 */
async function openSsoSession(
  trx: Transaction<DB>,
  user: { id: number; client: string; roles: Parameters<typeof startSession>[1]['user']['roles'] },
  { amr }: FederatedPerson,
  { interaction }: PendingSignIn,
  { config, request }: IdentityRequestContext,
) {
  const userAgent = (request.stream.headers['user-agent'] ?? '').slice(0, 500)
  const { address } = request
  const session = await startSession(trx, { user, lifetimes: config, address, userAgent, amr })
  if (interaction === undefined)
    return { session, refreshToken: await addRefreshToken(trx, session), ticket: undefined }
  // The interaction page needs no refresh token: the application gets its own.
  return { session, refreshToken: '', ticket: await issueHandoverTicket(trx, { session, interaction }) }
}

/**
 * Redirects the browser to the SSO provider of the organisation, and sets a cookie that ties the sign-in to this
 * browser. Writes nothing to the database, because the encrypted `state` parameter carries the data of the sign-in.
 * `interaction` is the sign-in page of an application, if the user comes from one; `mark` proves that this browser
 * received that page.
 */
export async function startSso(
  clientCode: string,
  { interaction, mark: linkProof = '' }: SsoStartQuery,
  input: IdentityRequestContext,
): Promise<RedirectResponse> {
  if (interaction && !(await isOwnInteraction(interaction, linkProof, input))) throw unknownSignInProblem()
  const { db, config, federation } = input
  const provider = await findProviderConfig(db, config, { clientCode })
  if (!provider) throw noSingleSignOnProblem()
  const signInFacts = { config: provider.uid, issuer: provider.issuer.href, ...(interaction && { interaction }) }
  const { pending, secret, state } = createPendingSignIn(config.SECRET_KEYS, signInFacts)
  try {
    const cookies = createBrowserCookies(new URL(buildCallbackUrl(config)))
    const url = await createAuthorizationUrl(provider, federation, { state, secret })
    return new RedirectResponse(url, { 'Set-Cookie': cookies.set(pending.browser, secret) })
  } catch (error) {
    const problem = toProviderProblem(error)
    throw problem ? providerFailedProblem(problem) : error
  }
}

/**
 * Returns whether the interaction (a sign-in that an application started) is open and belongs to this browser. The link
 * on the sign-in page contains `linkProof`, which is valid only in the browser that received the page.
 */
async function isOwnInteraction(
  interaction: string,
  linkProof: string,
  { db, config, request }: IdentityRequestContext,
): Promise<boolean> {
  const isSameBrowser = createCsrfGuard(config).hasLinkProof(request.stream, interaction, linkProof)
  return isSameBrowser && (await isOpenInteraction(db, interaction))
}
