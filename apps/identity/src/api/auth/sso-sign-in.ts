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
import { chooseLanguageForLocales } from '../../pages/language.ts'
import { buildPageHeaders } from '../../pages/send-page.ts'
import { renderTokenPage } from '../../pages/signed-in-page.ts'
import { parsePublicAddress } from '../../public-address.ts'
import { type FederatedUser, admitFederatedUser, countCallback } from '../../sign-in/federated/federated-user.ts'
import { createBrowserCookies } from '../../sign-in/federated/browser-cookie.ts'
import {
  type FederatedPerson,
  createAuthorizationUrl,
  exchangeCallback,
} from '../../sign-in/federated/authorization-code-exchange.ts'
import { type ProviderConfig, buildCallbackUrl, findProviderConfig } from '../../sign-in/federated/provider-config.ts'
import {
  type ProviderProblem,
  noSingleSignOnProblem,
  notAdmittedProblem,
  providerFailedProblem,
  toProviderProblem,
  unknownSignInProblem,
} from '../../sign-in/federated/provider-problem.ts'
import { issueHandover } from '../../sign-in/federated/session-handover-tickets.ts'
import {
  type PendingSignIn,
  beginSignIn,
  isSameBrowser,
  openState,
  consumeState,
} from '../../sign-in/federated/pending-sign-in.ts'
import { addRefreshToken } from '../../sign-in/sessions/refresh-tokens.ts'
import { startSession } from '../../sign-in/sessions/sessions.ts'
import { uncountAttempt } from '../../sign-in/throttle/throttle.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { issueTokens } from './issue-tokens.ts'
import { isOpenInteraction } from '../../openid-provider/storage/adapter.ts'
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
  const { config, request } = input
  const pending = openState(config.SECRET_KEYS, query.state)
  const cookies = createBrowserCookies(new URL(buildCallbackUrl(config)))
  const secret = pending && cookies.read(request.stream.headers.cookie, pending.browser)
  if (!pending || !secret || !isSameBrowser(pending, secret)) throw unknownSignInProblem()
  // The callback names another provider than the one where the sign-in started, as in a mix-up attack (RFC 9207).
  if (pending.config !== query.provider.toLowerCase()) throw unknownSignInProblem()

  // Throttle before the state is consumed, so that a throttled browser can retry with the same state and cookie.
  let countedAttempt: string
  try {
    countedAttempt = await countCallback(input.db, request.address)
  } catch (error) {
    return redirectToInteraction(error, pending, input, {})
  }
  const headers = { 'Set-Cookie': cookies.clear(pending.browser) }
  if (!(await consumeState(input.db, query.state, pending))) throw unknownSignInProblem()
  try {
    const provider = await readProvider(pending, input)
    const signInResult = await signInAtProvider(
      provider,
      { state: query.state, secret, pending, countedAttempt },
      input,
    )
    if (signInResult.ticket !== undefined)
      return new RedirectResponse(buildInteractionUrl(pending, input, { ticket: signInResult.ticket }), headers)
    if (prefersHtml(request.stream.headers.accept))
      return new HtmlPage(renderSignedInPage(signInResult, input), { ...buildPageHeaders(), ...headers })
    return new JsonResponse(await issueTokens(input, signInResult), headers)
  } catch (error) {
    return redirectToInteraction(error, pending, input, headers)
  }
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
  // The page also explains 502, a failure of the provider.
  const canBeShown = error instanceof Problem && (error.status < 500 || error.status === 502)
  if (!startedOnPage || !canBeShown) throw error
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
  /** The key under which the throttle counted this callback. */
  countedAttempt: string
}

/**
 * Exchanges the authorization code for the user's identity at the provider, checks that this user may sign in, and
 * opens a session. Audits every outcome.
 */
async function signInAtProvider(
  provider: ProviderConfig,
  { state, secret, pending, countedAttempt }: ProviderCallback,
  input: IdentityRequestContext,
) {
  const { federation, request, write } = input
  const { search } = new URL(request.url, provider.redirectUri)
  const providerFacts = { provider: provider.uid, issuer: provider.issuer.href }
  const person = await exchangeCallback(provider, federation, { search, state, secret }).catch(toProviderProblemOrThrow)
  if (person instanceof Error) {
    await write(async () => {
      const details = { outcome: person.fault, reason: person.message, ...providerFacts }
      request.audit(null, details, { client: provider.client })
    })
    throw providerFailedProblem(person)
  }
  const signInResult = await write(async (trx) => {
    const admitted = await admitFederatedUser(trx, provider, person)
    const { user, refusal, activation } = { refusal: undefined, activation: undefined, ...admitted }
    const actor = { user: user?.uid, client: provider.client }
    const openedSession =
      user && refusal === undefined ? await openSsoSession(trx, user, person, pending, input) : undefined
    if (openedSession) await uncountAttempt(trx, countedAttempt)
    request.audit(
      user?.uid ?? null,
      {
        outcome: refusal ?? 'signed in',
        ...(openedSession && { session: openedSession.session.uid }),
        ...providerFacts,
        subject: person.subject,
        ssoId: person.ssoId,
        ...activation,
      },
      actor,
    )
    return openedSession && user && { ...openedSession, user: user.uid, client: user.client, signedInUser: user }
  })
  // An error inside `write` would roll back the audit row, so this function throws afterwards.
  if (!signInResult) throw notAdmittedProblem()
  return signInResult
}

/** Converts an error of the provider to a problem response. Rethrows all other errors. */
function toProviderProblemOrThrow(error: unknown): ProviderProblem {
  const problem = toProviderProblem(error)
  if (!problem) throw error
  return problem
}

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
  return { session, refreshToken: '', ticket: await issueHandover(trx, { session, interaction }) }
}

/**
 * Redirects the browser to the SSO provider of the organisation, and sets a cookie that ties the sign-in to this
 * browser. Writes nothing to the database, because the encrypted `state` parameter carries the data of the sign-in.
 * `interaction` is the sign-in page of an application, if the user comes from one.
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
  const { pending, secret, state } = beginSignIn(config.SECRET_KEYS, signInFacts)
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
