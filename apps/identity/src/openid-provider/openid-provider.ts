import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { JWK } from 'jose'
import type { Kysely } from 'kysely'
import type Provider from 'oidc-provider'
import type { Logger } from '@sluice/process'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'
import { parsePublicAddress } from '../public-address.ts'
import type { SigningKeys } from '../sign-in/tokens/signing-keys.ts'
import { problemPages } from '../pages/problem-pages.ts'
import { oidcPaths, allOidcPaths } from './configuration.ts'
import { type AuditTally, createAuditTally } from './audit-event-counter.ts'
import {
  answerDeviceLimit,
  limitDeviceLogins,
  limitFormBody,
  limitParameterLength,
  limitPendingLogins,
} from './request-limits.ts'
import { createInteractionRoutes } from './interactions/interaction-routes.ts'
import { createProvider, findRejectionReason } from './create-oidc-provider.ts'
import { problems } from '@sluice/http-server'
import { formDeadline } from '../pages/read-form.ts'
import { buildPagePolicy } from '../pages/send-page.ts'

export interface OpenIdProvider {
  /**
   * The routes `/.well-known/openid-configuration`, `/oidc/…` and the sign-in pages. Mount them before any body parser.
   */
  routes: Router
  /** Returns the reason why oidc-provider rejects `metadata` (see `toClientMetadata`); undefined if it accepts them. */
  findRejectionReason(metadata: object): Promise<string | undefined>
}

interface OpenIdProviderOptions {
  db: Kysely<DB>
  config: Config
  keys: SigningKeys
  logger: Logger
  /** The audit counter. Call its `flush` when the process stops. Default: a new one. */
  tally?: AuditTally | undefined
}

/**
 * Creates the OpenID Provider. After a key change, new requests use a new instance; requests that are running finish
 * with the old one.
 */
export function createOpenIdProvider({
  db,
  config,
  keys,
  logger,
  tally = createAuditTally(db, logger),
}: OpenIdProviderOptions): OpenIdProvider {
  const readInstance = createInstanceCache({ db, config, keys, logger, tally })
  const prepareProviderRequest = prepareRequest(config.IDENTITY_PUBLIC_URL)
  const routes = Router({ caseSensitive: true, strict: true })
  const { prefix } = parsePublicAddress(config.IDENTITY_PUBLIC_URL)
  routes.use(oidcPaths.authorization, setPagePrefix(prefix), limitPendingLogins(), problemPages)
  const deviceLimit = limitDeviceLogins()
  routes.use(oidcPaths.device_authorization, deviceLimit, answerDeviceLimit)
  routes.use(oidcPaths.code_verification, setPagePrefix(prefix), deviceLimit, problemPages)
  const pages = [oidcPaths.authorization, oidcPaths.end_session, oidcPaths.code_verification]
  routes.get(pages, limitParameterLength(prefix))
  routes.all(allOidcPaths, limitFormBody, prepareProviderRequest, async (request: Request, response: Response) => {
    response.locals.operation = 'oidc'
    const { handle } = await readInstance()
    await handle(request, response)
  })
  routes.use(
    createInteractionRoutes({
      db,
      config,
      logger,
      prepareProviderRequest,
      provider: async () => (await readInstance()).provider,
    }),
  )
  return {
    routes,
    findRejectionReason: async (metadata) => findRejectionReason((await readInstance()).provider, metadata),
  }
}

interface ProviderInstance {
  keys: JWK[]
  provider: Provider
  handle: ReturnType<Provider['callback']>
}

/** Returns a function that returns the oidc-provider instance with the current keys, and replaces it after a change. */
function createInstanceCache({ keys, ...dependencies }: Required<OpenIdProviderOptions>) {
  let cached: ProviderInstance | undefined
  return async (): Promise<ProviderInstance> => {
    const privateKeys = await keys.privateKeys()
    if (cached?.keys === privateKeys) return cached
    const provider = createProvider({ ...dependencies, keys: privateKeys, signingKeys: keys })
    cached = { keys: privateKeys, provider, handle: provider.callback() }
    return cached
  }
}

/** Sets the path prefix for the problem pages. */
const setPagePrefix =
  (prefix: string): RequestHandler =>
  (_request, response, next) => {
    response.locals.prefix = prefix
    next()
  }

/**
 * Returns the handler that prepares a request for oidc-provider. It sets the Host and X-Forwarded headers to the public
 * address, because oidc-provider builds addresses in its responses from them. It also rejects NUL characters in the
 * address, sets the security policy of pages, and limits the time in which a form must arrive.
 */
function prepareRequest(publicUrl: string): RequestHandler {
  const { host, protocol } = new URL(publicUrl)
  const limitFormTime = formDeadline()
  return (request, response, next) => {
    if (/%00|\0/.test(request.url)) throw problems.unreadableBody('The address contains a NUL character. Remove it.')
    delete request.headers['x-forwarded-host']
    request.headers.host = host
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    // oidc-provider adds to `script-src` the hash of its script that submits a form.
    response.set('Content-Security-Policy', `${buildPagePolicy()}; script-src 'self'`)
    limitFormTime(request, response, next)
  }
}
