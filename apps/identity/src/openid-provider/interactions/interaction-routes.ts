import { urlencoded, Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import type { Kysely } from 'kysely'
import { errors, type Provider } from 'oidc-provider'
import type { Logger } from '@sluice/process'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { auditPageWrites } from '../../pages/audited-page-writes.ts'
import { createCsrfGuard } from '../../csrf.ts'
import { chooseLanguage, readPageTexts } from '../../pages/choose-language.ts'
import { renderMessagePage } from '../../pages/message-page.ts'
import { showInternalErrors, problemPages } from '../../pages/problem-pages.ts'
import { sendPage } from '../../pages/send-page.ts'
import { parsePublicAddress } from '../../public-address.ts'
import { isBuiltIn } from '../storage/built-in-applications.ts'
import type { ExtraMetadata } from '../storage/clients.ts'
import { showConsentPage, submitConsent } from './consent.ts'
import { resumeFederatedLogin, showPasswordPage, submitPassword } from './first-factor.ts'
import { showCodePage, submitCode } from './second-factor.ts'
import type { InteractionStep } from './interaction-step.ts'
import { readRefusalTexts } from '../provider-pages.ts'

interface InteractionDependencies {
  db: Kysely<DB>
  config: Config
  logger: Logger
  prepareProviderRequest: RequestHandler
  provider(): Promise<Provider>
}

type InteractionHandler = (step: InteractionStep) => Promise<void>

/** Serves the sign-in and consent pages of applications. See docs/decisions/0016. */
export function createInteractionRoutes({
  db,
  config,
  logger,
  prepareProviderRequest,
  provider,
}: InteractionDependencies): Router {
  const csrf = createCsrfGuard(config)
  const sharedDependencies = { db, config, csrf, audited: auditPageWrites(db, config) }
  const { prefix } = parsePublicAddress(config.IDENTITY_PUBLIC_URL)

  /**
   * Reads the interaction that a request belongs to. Throws if the browser's cookie is missing or belongs to another
   * interaction.
   */
  const readStep = async (request: Request, response: Response): Promise<InteractionStep> => {
    const currentProvider = await provider()
    const interaction = await currentProvider.interactionDetails(request, response)
    const { uid } = request.params
    if (interaction.uid !== uid) throw new errors.SessionNotFound('the cookie is of another interaction')
    const client = await currentProvider.Client.find(String(interaction.params['client_id']))
    if (!client) throw new errors.InvalidClient('client is invalid', 'client not found')
    const { tenant, organisation, role_scopes } = client as unknown as ExtraMetadata
    const scopes = [...(client.scope?.split(' ') ?? []), ...role_scopes]
    const owner = isBuiltIn(client.clientId)
      ? { tenant: undefined, organisation: undefined }
      : { tenant, organisation: { name: organisation } }
    const { redirect_uri: redirectUri } = interaction.params
    return {
      ...sharedDependencies,
      provider: currentProvider,
      interaction,
      application: { id: client.clientId, name: client.clientName ?? client.clientId, ...owner, scopes },
      targets: typeof redirectUri === 'string' ? [new URL(redirectUri).origin] : [],
      prefix,
      base: `${prefix}/interaction/${uid}`,
      language: chooseLanguage(request),
      request,
      response,
    }
  }
  const showPage: InteractionHandler = (step) =>
    step.interaction.prompt.name === 'consent' ? showConsentPage(step) : showPasswordPage(step)
  const handleStep =
    (handle: InteractionHandler): RequestHandler =>
    async (request, response) => {
      response.locals.operation = 'oidc.interaction'
      await handle(await readStep(request, response))
    }
  const form = urlencoded({ extended: false, limit: 16_384, parameterLimit: 20, inflate: false })
  const assertOwnForm: RequestHandler = (request, _response, next) => {
    csrf.assertValid(request)
    next()
  }

  const routes = Router({ caseSensitive: true, strict: true })
  routes.use('/interaction', (_request, response, next) => {
    response.locals.prefix = prefix
    next()
  })
  routes.get('/interaction/:uid', prepareProviderRequest, handleStep(showPage))
  routes.get('/interaction/:uid/code', prepareProviderRequest, handleStep(showCodePage))
  routes.get('/interaction/:uid/federated', prepareProviderRequest, handleStep(resumeFederatedLogin))
  routes.post('/interaction/:uid/login', prepareProviderRequest, form, assertOwnForm, handleStep(submitPassword))
  routes.post('/interaction/:uid/code', prepareProviderRequest, form, assertOwnForm, handleStep(submitCode))
  routes.post('/interaction/:uid/consent', prepareProviderRequest, form, assertOwnForm, handleStep(submitConsent))
  routes.use('/interaction', answerEndedInteraction, problemPages, showInternalErrors(logger))
  return routes
}

/**
 * Handles requests to an interaction that has ended, for example from the back button, a second tab or an expired page.
 */
const answerEndedInteraction: ErrorRequestHandler = (error: unknown, request, response, next) => {
  if (!(error instanceof errors.OIDCProviderError)) return next(error)
  const code = error instanceof errors.SessionNotFound ? 'session_not_found' : error.error
  const language = chooseLanguage(request)
  const prefix = response.locals.prefix as string
  const message = readRefusalTexts(readPageTexts(language), code)
  sendPage(response, 400, renderMessagePage({ prefix, language, ...message, status: 'problem' }))
}
