import type { Transaction } from 'kysely'
import type { SsoCallbackQuery, Tokens } from '@sluice/contracts'
import { Answer, Page, prefersPage, Problem, Redirect, RefusedElsewhere } from '@sluice/http'
import type { DB } from '../../database.ts'
import { languageAmong } from '../../pages/language.ts'
import { pageHeaders } from '../../pages/page-policy.ts'
import { signedInPage } from '../../pages/signed-in-page.ts'
import { publicAddress } from '../../public-address.ts'
import { admit, type Admitted } from '../../sign-in/federated/admit.ts'
import { browserCookies } from '../../sign-in/federated/browser-cookie.ts'
import { personOf, type Person } from '../../sign-in/federated/exchange.ts'
import { callbackUrl, findProviderConfig, type ProviderConfig } from '../../sign-in/federated/provider-config.ts'
import { providerProblem, type ProviderProblem } from '../../sign-in/federated/provider-problem.ts'
import { notAdmitted, providerFailed, unknownSignIn } from '../../sign-in/federated/sign-in-problems.ts'
import { issueHandover } from '../../sign-in/federated/handovers.ts'
import { admitWayBack, wayBackSucceeded } from '../../sign-in/federated/throttle.ts'
import { isBrowserOf, recall, useOnce, type UnderWay } from '../../sign-in/federated/under-way.ts'
import { addRefreshToken } from '../../sign-in/refresh-tokens.ts'
import { openSession } from '../../sign-in/sessions.ts'
import type { Asked } from '../operation.ts'
import { tokensOf } from './tokens.ts'

/**
 * Ends a sign-in at a provider: with tokens, for a browser with a page that says who is signed in, or back on the page that it began on, with a ticket for the session. What goes
 * wrong is told there too (`?problem=<code>`), and in the audit.
 */
export async function finishSso(query: SsoCallbackQuery, input: Asked): Promise<Answer<Tokens> | Page | Redirect> {
  const { config, request } = input
  const underWay = recall(config.SECRET_KEYS, query.state)
  const cookies = browserCookies(new URL(callbackUrl(config)))
  const secret = underWay && cookies.read(request.stream.headers.cookie, underWay.browser)
  if (!underWay || !secret || !isBrowserOf(underWay, secret)) throw unknownSignIn()
  // Another config's answer: RFC 9207 calls it a mix-up.
  if (underWay.config !== query.provider.toLowerCase()) throw unknownSignIn()

  // Before anything is written: whoever has to wait leaves no rows, and can come back with the same state and cookie.
  const counted = await admitWayBack(input.db, request.address).catch((error: unknown) =>
    toPage(error, underWay, input, {}),
  )
  if (counted instanceof RefusedElsewhere) return counted
  const headers = { 'Set-Cookie': cookies.clear(underWay.browser) }
  if (!(await useOnce(input.db, query.state, underWay))) throw unknownSignIn()
  try {
    const provider = await providerOf(underWay, input)
    const done = await signInAt(provider, { state: query.state, secret, underWay, counted }, input)
    if (done.ticket !== undefined) return new Redirect(pageOf(underWay, input, { ticket: done.ticket }), headers)
    if (prefersPage(request.stream.headers.accept))
      return new Page(endOf(done, input), { ...pageHeaders(), ...headers })
    return new Answer(await tokensOf(input, done), headers)
  } catch (error) {
    return toPage(error, underWay, input, headers)
  }
}

/** Tells what went wrong on the page that the sign-in began on. Throws where there is none, and what is our own fault. */
function toPage(error: unknown, underWay: UnderWay, input: Asked, headers: Record<string, string>): RefusedElsewhere {
  if (
    underWay.interaction === undefined ||
    !(error instanceof Problem) ||
    (error.status >= 500 && error.status !== 502)
  )
    throw error
  return new RefusedElsewhere(pageOf(underWay, input, { problem: error.code }), headers)
}

/** As it is now; one that asks elsewhere than when the sign-in began is another. */
async function providerOf(underWay: UnderWay, { db, config }: Asked): Promise<ProviderConfig> {
  const provider = await findProviderConfig(db, config, { uid: underWay.config })
  if (!provider || provider.issuer.href !== underWay.issuer) throw unknownSignIn()
  return provider
}

const pageOf = ({ interaction }: UnderWay, { config }: Asked, query: Record<string, string>): string =>
  `${config.IDENTITY_PUBLIC_URL}/interaction/${interaction}/federated?${new URLSearchParams(query).toString()}`

/** The page for a browser whose sign-in began at no application. */
function endOf(
  { refreshToken, who }: { refreshToken: string; who: Pick<Admitted, 'name' | 'username' | 'organisation'> },
  { config, request }: Asked,
): string {
  const { prefix } = publicAddress(config.IDENTITY_PUBLIC_URL)
  return signedInPage({
    prefix,
    language: languageAmong(request.locales),
    organisation: { name: who.organisation },
    user: who,
    refreshToken,
    refreshUrl: `${config.IDENTITY_PUBLIC_URL}/api/v1/auth/refresh`,
    home: config.HOME_URL,
    action: `${prefix}/account/sign-out`,
  })
}

interface WayBack {
  state: string
  /** What the browser kept. */
  secret: string
  underWay: UnderWay
  /** What the way back was counted under. */
  counted: string
}

async function signInAt(provider: ProviderConfig, { state, secret, underWay, counted }: WayBack, input: Asked) {
  const { federation, request, write } = input
  const { search } = new URL(request.url, provider.redirectUri)
  const person = await personOf(provider, federation, { search, state, secret }).catch(asProblem)

  const done = await write(async (trx) => {
    const at = { provider: provider.uid, issuer: provider.issuer.href }
    if (person instanceof Error) {
      request.audit(null, { outcome: person.fault, reason: person.message, ...at }, { client: provider.client })
      return undefined
    }
    const admitted = await admit(trx, provider, person)
    const { user, refusal, activation } = { refusal: undefined, activation: undefined, ...admitted }
    const by = { user: user?.uid, client: provider.client }
    const opened = user && refusal === undefined ? await open(trx, user, person, underWay, input) : undefined
    if (opened) await wayBackSucceeded(trx, counted)
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

function asProblem(error: unknown): ProviderProblem {
  const problem = providerProblem(error)
  if (!problem) throw error
  return problem
}

/** For a page a ticket, for everybody else the first refresh token. */
async function open(
  trx: Transaction<DB>,
  user: { id: number; client: string; roles: Parameters<typeof openSession>[1]['user']['roles'] },
  { amr }: Person,
  { interaction }: UnderWay,
  { config, request }: Asked,
) {
  const userAgent = (request.stream.headers['user-agent'] ?? '').slice(0, 500)
  const { address } = request
  const session = await openSession(trx, { user, lives: config, address, userAgent, amr })
  return interaction === undefined
    ? { session, refreshToken: await addRefreshToken(trx, session), ticket: undefined }
    : { session, refreshToken: '', ticket: await issueHandover(trx, { session, interaction }) }
}
