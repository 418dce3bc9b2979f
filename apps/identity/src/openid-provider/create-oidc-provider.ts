import type { Context, Next } from 'koa'
import type { Kysely } from 'kysely'
import { errors, Provider, type ClientMetadata, type KoaContextWithOIDC } from 'oidc-provider'
import { isUnavailable } from '@sluice/database'
import { problems } from '@sluice/http-server'
import type { Logger } from '@sluice/process'
import type { DB } from '../database.ts'
import { parsePublicAddress } from '../public-address.ts'
import type { SigningKeys } from '../sign-in/tokens/signing-keys.ts'
import { createSecretVerifier } from './client-secrets.ts'
import { buildProviderConfiguration, type ProviderDependencies } from './configuration.ts'
import type { AuditTally } from './audit-event-counter.ts'
import { recordEvents } from './audit-events.ts'
import { introspectJwt } from './introspect-jwt.ts'
import { keepUserCodeOffForms } from './device-flow.ts'
import { skipLogoutPrompt, endSignedInSession } from './sign-out.ts'

/**
 * Creates an oidc-provider instance with one set of keys. That takes milliseconds, so a key change simply creates a new
 * instance.
 */
export function createProvider(
  dependencies: ProviderDependencies & { logger: Logger; tally: AuditTally; signingKeys: SigningKeys },
): Provider {
  const provider = new Provider(dependencies.config.IDENTITY_PUBLIC_URL, buildProviderConfiguration(dependencies))
  // Trust the forwarded headers, because `prepareRequest` has replaced them with the public address.
  provider.proxy = true
  provider.use(answerUnknownPaths(parsePublicAddress(dependencies.config.IDENTITY_PUBLIC_URL).prefix))
  provider.use(skipLogoutPrompt)
  provider.use(keepUserCodeOffForms)
  provider.use(
    introspectJwt({
      db: dependencies.db,
      issuer: dependencies.config.IDENTITY_PUBLIC_URL,
      keys: dependencies.signingKeys,
    }),
  )
  allowOnlyQueryResponseMode(provider)
  answerTemporarilyUnavailable(provider)
  bindSignInSessions(provider, dependencies.db)
  overrideClientChecks(provider, dependencies.db)
  recordEvents(provider, dependencies)
  return provider
}

interface SessionLike {
  uid: string
  exp?: number
  accountId?: string
}

/** Overrides methods of oidc-provider's sessions, so that each one is bound to a sign-in session of Sluice. */
function bindSignInSessions(provider: Provider, db: Kysely<DB>): void {
  skipSessionsOfAnonymousLogouts(provider)
  useUidOfSignInSession(provider)
  skipPersistingUnstoredSessions(provider)
  endSignInSessionOnDestroy(provider, db)
}

/**
 * A logout request of a browser that is not signed in stores no session, so that unauthenticated requests cannot fill
 * the database.
 */
function skipSessionsOfAnonymousLogouts(provider: Provider): void {
  const get = provider.Session.get.bind(provider.Session)
  provider.Session.get = async function getSession(ctx: KoaContextWithOIDC) {
    const session = await get(ctx)
    const isAnonymousLogout = !session.accountId && ctx.oidc?.route === 'end_session'
    // oidc-provider does not store a destroyed session.
    if (isAnonymousLogout) Object.assign(session, { destroyed: true })
    return session
  } as typeof get
}

/** Gives a session the uid of the sign-in session, which `finishLogin` stored in the result of the interaction. */
function useUidOfSignInSession({ Session: { prototype } }: Provider): void {
  const { loginAccount } = prototype
  prototype.loginAccount = function loginWithSignInSession(
    this: SessionLike,
    details: Parameters<typeof loginAccount>[0],
  ) {
    const session = Provider.ctx?.oidc.entities.Interaction?.result?.login?.['session']
    if (typeof session !== 'string') throw new errors.SessionNotFound('a sign-in without a session')
    this.uid = session
    loginAccount.call(this as never, details)
  }
}

/** After an error of the device pages, oidc-provider persists a session that it has not stored, which would throw. */
function skipPersistingUnstoredSessions({ Session: { prototype } }: Provider): void {
  const { persist } = prototype
  prototype.persist = async function persistStoredSession(this: SessionLike) {
    const isStored = typeof this.exp === 'number'
    return isStored ? persist.call(this as never) : ''
  }
}

function endSignInSessionOnDestroy({ Session: { prototype } }: Provider, db: Kysely<DB>): void {
  const { destroy } = prototype
  prototype.destroy = async function endWithSignInSession(this: SessionLike) {
    if (this.accountId) await endSignedInSession(db, this.uid, Provider.ctx)
    await destroy.call(this as never)
  }
}

/**
 * Overrides two checks of oidc-provider: compares client secrets by hash, and accepts every page on the application's
 * origins as the target after a logout.
 */
function overrideClientChecks(provider: Provider, db: Kysely<DB>): void {
  const { prototype } = provider.Client
  const isSecretOf = createSecretVerifier(db)
  Object.assign(prototype, {
    compareClientSecret(this: { clientId: string; clientSecret?: string }, secret: string) {
      return isSecretOf(this, secret)
    },
    postLogoutRedirectUriAllowed(this: { redirectUris?: string[] }, uri: unknown) {
      return typeof uri === 'string' && isPageOfOrigins(uri, this.redirectUris ?? [])
    },
  })
}

function isPageOfOrigins(uri: string, registered: readonly string[]): boolean {
  if (!URL.canParse(uri)) return false
  const { origin, username, password, hash, href } = new URL(uri)
  const isPlain = !username && !password && !hash && href === uri
  return isPlain && registered.some((redirectUri) => new URL(redirectUri).origin === origin)
}

/** Returns the reason why oidc-provider rejects the metadata of an application; undefined if it accepts them. */
export async function findRejectionReason(provider: Provider, metadata: object): Promise<string | undefined> {
  try {
    await (provider.Client as unknown as { validate(metadata: ClientMetadata): Promise<void> }).validate(
      metadata as ClientMetadata,
    )
    return undefined
  } catch (error) {
    if (!(error instanceof errors.InvalidClientMetadata)) throw error
    return error.error_description ?? error.message
  }
}

const unavailableError = {
  error: 'temporarily_unavailable',
  error_description: 'a component of this service is unavailable: try again soon',
}

/**
 * Answers with 503 `temporarily_unavailable` instead of oidc-provider's `server_error` if the database was unavailable.
 */
function answerTemporarilyUnavailable(provider: Provider): void {
  const requestsDuringOutage = new WeakSet<object>()
  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error)) requestsDuringOutage.add(ctx)
  })
  provider.use(async (ctx: Context, next: Next) => {
    await next()
    if (!requestsDuringOutage.has(ctx)) return
    const location = ctx.response.get('Location')
    if (location) return ctx.set('Location', replaceServerError(location))
    ctx.status = 503
    ctx.set('Retry-After', '5')
    if (isServerError(ctx.body)) ctx.body = { ...ctx.body, ...unavailableError }
  })
}

const isServerError = (body: unknown): body is { error: string } =>
  typeof body === 'object' && body !== null && 'error' in body && body.error === 'server_error'

/** Replaces `server_error` by `temporarily_unavailable` in a redirect to the application. */
function replaceServerError(location: string): string {
  const url = new URL(location)
  if (url.searchParams.get('error') !== 'server_error') return location
  for (const [name, value] of Object.entries(unavailableError)) url.searchParams.set(name, value)
  return url.href
}

/** Sets the mount path of oidc-provider, and answers with 404 for paths that oidc-provider does not know. */
const answerUnknownPaths = (base: string) =>
  async function answer(ctx: Context, next: Next): Promise<void> {
    ctx['mountPath'] = base
    await next()
    if (ctx.status !== 404 || ctx.body) return
    const requestId = ctx.response.get('x-request-id')
    ctx.body = JSON.stringify(problems.notFound('address').document(ctx.path.slice(0, 2000), requestId))
    ctx.status = 404
    ctx.type = 'application/problem+json'
  }

/**
 * Allows only the response mode `query`. oidc-provider's `form_post` responds with a page of its own that has a script;
 * `fragment` is for flows that put tokens into the address.
 */
function allowOnlyQueryResponseMode(provider: Provider): void {
  provider.use(async (ctx: Context, next: Next) => {
    const { response_mode: mode } = ctx.query
    // oidc-provider does not know the mode `unsupported`, so it redirects to the application with an error in the
    // query.
    if (mode !== undefined && mode !== 'query') ctx.query = { ...ctx.query, response_mode: 'unsupported' }
    await next()
    if (isDiscoveryDocument(ctx.body)) ctx.body = { ...ctx.body, response_modes_supported: ['query'] }
  })
}

const isDiscoveryDocument = (body: unknown): body is object =>
  typeof body === 'object' && body !== null && 'response_modes_supported' in body
