import { randomUUID } from 'node:crypto'
import cors from 'cors'
import express, { type ErrorRequestHandler, type Express, type RequestHandler, Router } from 'express'
import helmet from 'helmet'
import { Histogram, type Logger, type Registry, requestScope } from '@sluice/process'
import { createErrorHandler } from './error-handler.ts'
import { bodyDeadline } from './read-json-body.ts'
import { createDocsRoutes } from './api-docs-page.ts'
import { type HealthCheck, healthyStatus, checkReadiness } from './check-readiness.ts'
import { rejectUnknownHosts } from './allowed-hosts.ts'
import { type ServiceInfo, openapi } from './openapi.ts'
import type { Caller, Operation } from './operation.ts'
import { type Problem, problems } from './problem.ts'
import { type RequestPipeline, createRouter } from './router.ts'

export interface HttpService<Context> extends RequestPipeline<Context> {
  operations: readonly Operation<Context>[]
  info: ServiceInfo
  logger: Logger
  metrics: Registry
  checks: readonly HealthCheck[]
  isStopping(): boolean
  /** The public base URL of this service. */
  publicUrl: string
  /** Additional hosts that the Host header may contain, for requests from other services. */
  allowedHosts: readonly string[]
  /** The origins of web pages that may read responses (CORS). */
  corsOrigins: readonly string[]
  /** The number of trusted proxies in front of the service. */
  trustedProxies: number
  /** Converts the service's own errors to problems. */
  translate(error: unknown): Problem | undefined
  /** The milliseconds within which a JSON body must arrive. Default: 30,000. */
  bodyTimeoutMs?: number
  /** Shows errors as a page in a browser. Passes other errors on to the problem documents. */
  problemPages?: ErrorRequestHandler
  /** Routes for OPTIONS requests. They precede the CORS handler, which responds to every OPTIONS request. */
  optionsRoutes?: Router
  /** Additional Express routes below the root, such as published keys. */
  extraRoutes?: Router
}

/**
 * The content security policy of API responses. A browser that opens a response as a page runs no scripts and loads
 * nothing.
 */
const apiContentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Returns the Express app of a service: middleware, health, metrics, docs and all operations below `/api/v1`. */
export function createApp<Context>(service: HttpService<Context>): Express {
  const app = express()
  let document: string | undefined

  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', service.trustedProxies)
  app.set('query parser', 'simple')
  app.use(identifyRequest, logRequests(service.logger), measureDuration(service.metrics))
  app.use(helmet({ strictTransportSecurity: { maxAge: 31_536_000 } }))
  if (service.optionsRoutes) app.use(service.optionsRoutes)
  app.use(
    cors({
      origin: [...service.corsOrigins],
      exposedHeaders: [
        'Content-Disposition',
        'ETag',
        'Link',
        'Location',
        'Retry-After',
        'Tus-Extension',
        'Tus-Max-Size',
        'Tus-Resumable',
        'Tus-Version',
        'Upload-Expires',
        'Upload-Length',
        'Upload-Metadata',
        'Upload-Offset',
        'X-Request-Id',
        'X-Total-Count',
        'X-Page',
        'X-Page-Size',
        'X-Page-Count',
        'X-Next-Cursor',
      ],
      maxAge: 600,
    }),
  )

  app.use(createHealthRoutes(service.checks, service.isStopping))
  app.get('/metrics', async (_request, response) => {
    response.type(service.metrics.contentType).send(await service.metrics.metrics())
  })
  // The routes above precede the host check, because health probes and metrics scrapers send requests to IP addresses.
  app.use(rejectUnknownHosts(service.publicUrl, service.allowedHosts))
  app.get('/openapi.json', (_request, response) => {
    document ??= JSON.stringify(openapi(service.operations, service.info))
    response.type('json').send(document)
  })
  app.get('/', (_request, response) => response.redirect('/docs'))
  app.use(createDocsRoutes(service.info.title))
  if (service.extraRoutes) app.use(service.extraRoutes)

  const api = express.Router()
  api.use((_request, response, next) => {
    response.set({ 'Cache-Control': 'no-store', 'Content-Security-Policy': apiContentSecurityPolicy })
    response.vary('Accept-Language')
    next()
  })
  api.use(bodyDeadline(service.bodyTimeoutMs ?? 30_000))
  api.use(createRouter(service.operations, service))
  app.use('/api/v1', api)

  app.use(() => {
    throw problems.notFound('address')
  })
  if (service.problemPages) app.use(service.problemPages)
  app.use(createErrorHandler(service.logger, service.translate))
  return app
}

/**
 * Takes the request id from the caller's header if it is well formed, or creates one. Binds it to the request's async
 * context.
 */
const identifyRequest: RequestHandler = (request, response, next) => {
  const headerValue = request.get('x-request-id')
  const requestId = headerValue && /^[\w.:-]{1,100}$/.test(headerValue) ? headerValue : randomUUID()
  const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.exec(request.get('traceparent') ?? '')?.[0]
  response.locals.requestId = requestId
  response.set('X-Request-Id', requestId)
  requestScope.run({ requestId, traceparent }, next)
}

function measureDuration(registry: Registry): RequestHandler {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time to answer, by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return (_request, response, next) => {
    const stop = durations.startTimer()
    response.once('close', () =>
      stop({ operation: String(response.locals.operation ?? 'other'), status: response.statusCode }),
    )
    next()
  }
}

/** Logs one line per request, except health checks and metrics. */
function logRequests(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const start = process.hrtime.bigint()
    // Reads the address now, because it is unknown after the connection has closed.
    const address = request.ip
    response.once('close', () => {
      const path = request.originalUrl.split('?')[0] ?? ''
      const isMonitoring = path.startsWith('/health/') || path === '/metrics'
      if (isMonitoring) return
      const elapsedNanoseconds = process.hrtime.bigint() - start
      const { requestId, operation, caller } = response.locals as {
        requestId?: string
        operation?: string
        caller?: Caller
      }
      const line = {
        requestId,
        method: request.method,
        path,
        operation,
        status: response.statusCode,
        // Milliseconds with two decimal places.
        ms: Number(elapsedNanoseconds / 10_000n) / 100,
        address,
        ...(caller?.uid && { user: caller.uid, client: caller.client }),
        ...(!response.writableFinished && { aborted: true }),
      }
      logger[response.statusCode >= 500 ? 'error' : 'info'](line, 'request')
    })
    next()
  }
}

/**
 * Returns the health routes. `/health/live`: the process responds. `/health/ready`: the status of each dependency, with
 * 503 if a required one is down.
 */
export function createHealthRoutes(checks: readonly HealthCheck[], isStopping: () => boolean): Router {
  const routes = Router()
  routes.get('/health/live', (_request, response) => {
    response.json(healthyStatus)
  })
  routes.get('/health/ready', async (_request, response) => {
    const { status, headers, body } = await checkReadiness(checks, isStopping)
    response.status(status).set(headers).json(body)
  })
  return routes
}
