import type { Transaction } from 'kysely'
import type { SsoCallbackQuery, SsoStartQuery, Tokens } from '@sluice/contracts'
import {
  JsonResponse,
  HtmlPage,
  Problem,
  RedirectResponse,
  ProblemPageRedirect,
  prefersHtml,
} from '@sluice/http-server'
import type { DB } from '../../database.ts'
import { languageForLocales } from '../../pages/language.ts'
import { pageHeaders } from '../../pages/send-page.ts'
import { signedInPage } from '../../pages/signed-in-page.ts'
import { publicAddress } from '../../public-address.ts'
import {
  type FederatedUser,
  admitFederatedUser,
  countCallback,
  uncountCallback,
} from '../../sign-in/federated/federated-user.ts'
import { browserCookies } from '../../sign-in/federated/browser-cookie.ts'
import { type FederatedPerson, authorizationUrl, personOf } from '../../sign-in/federated/exchange.ts'
import { type ProviderConfig, callbackUrl, findProviderConfig } from '../../sign-in/federated/provider-config.ts'
import {
  type ProviderProblem,
  noSingleSignOn,
  notAdmitted,
  providerFailed,
  providerProblem,
  unknownSignIn,
} from '../../sign-in/federated/provider-problem.ts'
import { issueHandover } from '../../sign-in/federated/handovers.ts'
import {
  type PendingSignIn,
  beginSignIn,
  isBrowserOf,
  openState,
  consumeState,
} from '../../sign-in/federated/pending-sign-in.ts'
import { addRefreshToken } from '../../sign-in/sessions/refresh-tokens.ts'
import { openSession } from '../../sign-in/sessions/sessions.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { tokensOf } from './tokens.ts'
import { isOpenInteraction } from '../../openid-provider/storage/adapter.ts'
import { csrfGuard } from '../../csrf.ts'

/**
 * Ends a sign-in at a provider. Returns tokens as JSON, or a page that names the signed-in user if the Accept header
 * prefers HTML. A sign-in that began on a page of the OpenID Provider is redirected back to it with a ticket for the
 * session; its errors are redirected there too (`?problem=<code>`). The audit log records all errors.
 */
export async function finishSso(
  query: SsoCallbackQuery,
  input: IdentityRequestContext,
): Promise<JsonResponse<Tokens> | HtmlPage | RedirectResponse> {
  const { config, request } = input
  const pending = openState(config.SECRET_KEYS, query.state)
  const cookies = browserCookies(new URL(callbackUrl(config)))
  const secret = pending && cookies.read(request.stream.headers.cookie, pending.browser)
  if (!pending || !secret || !isBrowserOf(pending, secret)) throw unknownSignIn()
  // The answer is for another config: a mix-up attack (RFC 9207).
  if (pending.config !== query.provider.toLowerCase()) throw unknownSignIn()

  // Throttle before writing, so that a throttled browser can retry with the same state and cookie.
  const counted = await countCallback(input.db, request.address).catch((error: unknown) =>
    redirectToInteraction(error, pending, input, {}),
  )
  if (counted instanceof ProblemPageRedirect) return counted
  const headers = { 'Set-Cookie': cookies.clear(pending.browser) }
  if (!(await consumeState(input.db, query.state, pending))) throw unknownSignIn()
  try {
    const provider = await providerOf(pending, input)
    const done = await signInAt(provider, { state: query.state, secret, pending, counted }, input)
    if (done.ticket !== undefined)
      return new RedirectResponse(interactionUrl(pending, input, { ticket: done.ticket }), headers)
    if (prefersHtml(request.stream.headers.accept))
      return new HtmlPage(renderSignedInPage(done, input), { ...pageHeaders(), ...headers })
    return new JsonResponse(await tokensOf(input, done), headers)
  } catch (error) {
    return redirectToInteraction(error, pending, input, headers)
  }
}

/** Redirects a problem to the interaction page. Rethrows internal errors, and all errors of a sign-in without a page. */
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
  return new ProblemPageRedirect(interactionUrl(pending, input, { problem: error.code }), headers)
}

/** Returns the current config of a sign-in. A config whose issuer changed since the start counts as another one. */
async function providerOf(pending: PendingSignIn, { db, config }: IdentityRequestContext): Promise<ProviderConfig> {
  const provider = await findProviderConfig(db, config, { uid: pending.config })
  if (!provider || provider.issuer.href !== pending.issuer) throw unknownSignIn()
  return provider
}

const interactionUrl = (
  { interaction }: PendingSignIn,
  { config }: IdentityRequestContext,
  query: Record<string, string>,
): string =>
  `${config.IDENTITY_PUBLIC_URL}/interaction/${interaction}/federated?${new URLSearchParams(query).toString()}`

/** Returns the HTML page that ends a sign-in that no application started. */
function renderSignedInPage(
  { refreshToken, who }: { refreshToken: string; who: Pick<FederatedUser, 'name' | 'username' | 'organisation'> },
  { config, request }: IdentityRequestContext,
): string {
  const { prefix } = publicAddress(config.IDENTITY_PUBLIC_URL)
  return signedInPage({
    prefix,
    language: languageForLocales(request.locales),
    organisation: { name: who.organisation },
    user: who,
    refreshToken,
    refreshUrl: `${config.IDENTITY_PUBLIC_URL}/api/v1/auth/refresh`,
    home: config.HOME_URL,
    action: `${prefix}/account/sign-out`,
  })
}

interface ProviderCallback {
  state: string
  /** The secret of the browser's cookie. */
  secret: string
  pending: PendingSignIn
  /** The throttle key of the callback. */
  counted: string
}

async function signInAt(
  provider: ProviderConfig,
  { state, secret, pending, counted }: ProviderCallback,
  input: IdentityRequestContext,
) {
  const { federation, request, write } = input
  const { search } = new URL(request.url, provider.redirectUri)
  const person = await personOf(provider, federation, { search, state, secret }).catch(toProviderProblem)

  const done = await write(async (trx) => {
    const at = { provider: provider.uid, issuer: provider.issuer.href }
    if (person instanceof Error) {
      request.audit(null, { outcome: person.fault, reason: person.message, ...at }, { client: provider.client })
      return undefined
    }
    const admitted = await admitFederatedUser(trx, provider, person)
    const { user, refusal, activation } = { refusal: undefined, activation: undefined, ...admitted }
    const by = { user: user?.uid, client: provider.client }
    const opened = user && refusal === undefined ? await open(trx, user, person, pending, input) : undefined
    if (opened) await uncountCallback(trx, counted)
    request.audit(
      user?.uid ?? null,
      {
        outcome: refusal ?? 'signed in',
        ...(opened && { session: opened.session.uid }),
        ...at,
        subject: person.subject,
        ssoId: person.ssoId,
        ...activation,
      },
      by,
    )
    return opened && user && { ...opened, user: user.uid, client: user.client, who: user }
  })
  if (person instanceof Error) throw providerFailed(person)
  if (!done) throw notAdmitted()
  return done
}

function toProviderProblem(error: unknown): ProviderProblem {
  const problem = providerProblem(error)
  if (!problem) throw error
  return problem
}

/** Opens the session. Returns a ticket for an interaction page, otherwise the first refresh token. */
async function open(
  trx: Transaction<DB>,
  user: { id: number; client: string; roles: Parameters<typeof openSession>[1]['user']['roles'] },
  { amr }: FederatedPerson,
  { interaction }: PendingSignIn,
  { config, request }: IdentityRequestContext,
) {
  const userAgent = (request.stream.headers['user-agent'] ?? '').slice(0, 500)
  const { address } = request
  const session = await openSession(trx, { user, lives: config, address, userAgent, amr })
  return interaction === undefined
    ? { session, refreshToken: await addRefreshToken(trx, session), ticket: undefined }
    : { session, refreshToken: '', ticket: await issueHandover(trx, { session, interaction }) }
}

/** Redirects a browser to its client's provider. Writes nothing to the database: the sealed state carries the data. */
export async function startSso(
  clientCode: string,
  { interaction, mark = '' }: SsoStartQuery,
  input: IdentityRequestContext,
): Promise<RedirectResponse> {
  if (interaction && !(await isOwnInteraction(interaction, mark, input))) throw unknownSignIn()
  const { db, config, federation } = input
  const provider = await findProviderConfig(db, config, { clientCode })
  if (!provider) throw noSingleSignOn()
  const about = { config: provider.uid, issuer: provider.issuer.href, ...(interaction && { interaction }) }
  const { pending, secret, state } = beginSignIn(config.SECRET_KEYS, about)
  try {
    const cookies = browserCookies(new URL(callbackUrl(config)))
    const url = await authorizationUrl(provider, federation, { state, secret })
    return new RedirectResponse(url, { 'Set-Cookie': cookies.set(pending.browser, secret) })
  } catch (error) {
    const problem = providerProblem(error)
    throw problem ? providerFailed(problem) : error
  }
}

/**
 * Returns whether the interaction is open and this browser received its link. A link of another browser would open an
 * unusable session.
 */
async function isOwnInteraction(
  interaction: string,
  mark: string,
  { db, config, request }: IdentityRequestContext,
): Promise<boolean> {
  return csrfGuard(config).isMarked(request.stream, interaction, mark) && (await isOpenInteraction(db, interaction))
}
