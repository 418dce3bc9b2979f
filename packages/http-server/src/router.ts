import { Router, type Request, type Response } from 'express'
import { type Logger, Semaphore } from '@sluice/process'
import {
  createContractChecker,
  hasRole,
  listUsedLanguages,
  NoFields,
  PlainQuery,
  type OperationGuard,
  type OperationSignature,
} from '@sluice/contracts'
import { chooseType, listRequestedLocales } from './content-negotiation.ts'
import { FileDownload, sendDownload } from './file-download.ts'
import { JsonResponse, HtmlPage, RedirectResponse, parseIfMatch } from './responses.ts'
import { EventStream, sendEvents } from './event-stream.ts'
import { anonymousCaller, type AuditActor, type Caller, type Operation, type RequestFacts } from './operation.ts'
import { problems } from './problem.ts'
import { readJsonBody } from './read-json-body.ts'

export interface RequestPipeline<Context> {
  logger: Logger
  isStopping(): boolean
  /** Identifies the caller. Throws 401 if that fails. Not called if the guard of the operation is `anyone`. */
  authenticate(request: Request, guard: OperationGuard): Promise<Caller>
  /** Runs a handler with its context: the connection pool for a read, or one audited transaction for a write. */
  run<T>(
    operation: Operation<Context>,
    caller: Caller,
    requestFacts: RequestFacts & { audited: AuditNote[] },
    callback: (context: Context) => Promise<T>,
  ): Promise<T>
}

export interface AuditNote {
  object: string | null
  details: object
  actor: AuditActor | undefined
}

/**
 * Returns the routes of all operations. Each performs authentication, authorization, validation, the handler and the
 * response.
 */
export function createRouter<Context>(
  operations: readonly Operation<Context>[],
  pipeline: RequestPipeline<Context>,
): Router {
  const routes = Router({ caseSensitive: true, strict: true })
  const hasParameters = (path: string) => path.includes(':')
  for (const [index, operation] of operations.entries()) {
    const { method, path } = operation.signature
    routes[method](path, createRequestHandler(operation, pipeline))
    // `/users/me` refuses other methods before the routes of `/users/:uid`, which would match `me` as an id.
    const isLastOfPath = operations.slice(index + 1).every(({ signature }) => signature.path !== path)
    if (isLastOfPath && !hasParameters(path)) refuseOtherMethods(routes, operations, path)
  }
  const paths = new Set(operations.map(({ signature }) => signature.path))
  for (const path of paths) if (hasParameters(path)) refuseOtherMethods(routes, operations, path)
  return routes
}

/**
 * Operations without query parameters reject unknown ones, such as `?mode=INCREMENTAL` when starting a run, instead of
 * ignoring them.
 */
const checkPlainQuery = createContractChecker(PlainQuery, 'query')

/**
 * Rejects fields in the body of operations without body fields. Otherwise a restore that ignored an unknown `dryRun`
 * would really restore.
 */
const checkNoFields = createContractChecker(NoFields)

/** Limits concurrent requests with bodies of more than 1 MB, because each takes several times its body in memory. */
const largeRequests = new Semaphore({
  total: 4,
  each: 1,
  waiting: 20,
  waitMs: 15_000,
  title: 'Too many large requests of your organisation are in progress.',
})

/** Returns the Express handler of an operation: it checks the request, runs the operation and sends the result. */
function createRequestHandler<Context>(operation: Operation<Context>, pipeline: RequestPipeline<Context>) {
  const { authenticate, run } = pipeline
  const { signature } = operation
  const checkQuery = signature.query ? createContractChecker(signature.query, 'query') : checkPlainQuery
  const checkBody = signature.body && createContractChecker(signature.body)

  return async (request: Request, response: Response) => {
    response.locals.operation = signature.id
    const caller = signature.guard === 'anyone' ? anonymousCaller : await authenticate(request, signature.guard)
    response.locals.caller = caller
    assertAuthorized(signature, caller)
    const acceptedType = chooseResponseType(signature, request)
    const query = assertContract(checkQuery, rejectNulCharacters(request.query))
    const requestFacts = { ...readRequestFacts(request, response), acceptedType }
    const handle = async () => {
      // The body is read after authorization, so that rejected callers cost no parsing.
      if (!signature.upload) await readJsonBodyOf(signature, request, response)
      const input = {
        caller,
        params: request.params as Record<string, string>,
        query: signature.query && query,
        body: checkBody && assertContract(checkBody, readBodyOrEmpty(request)),
        request: requestFacts,
      }
      assertOwnId(signature, input.params, input.body)
      return run(operation, caller, requestFacts, (context) => operation.handle({ ...context, ...input }))
    }
    const mayBeLarge = signature.bodyLimit !== undefined
    const result = await (mayBeLarge ? largeRequests.run(caller.client, handle) : handle())
    if (result instanceof RedirectResponse) return void response.status(302).set(result.headers).end()
    if (result instanceof HtmlPage) return void response.status(200).set(result.headers).type('html').send(result.html)
    if (result instanceof EventStream) return sendEvents(response, result, pipeline)
    if (result instanceof FileDownload) return sendDownload(request, response, result, pipeline)
    sendJson(response, signature, result, requestFacts.locales)
  }
}

/** Returns the media type of the response that the client accepts. Empty for a response without a body. */
function chooseResponseType(signature: OperationSignature, request: Request): string {
  const hasBody = signature.response && !signature.mayRedirect
  if (!hasBody) return ''
  const isTypeInQuery = request.query['format'] !== undefined
  return chooseType(request.headers.accept, listResponseTypes(signature), { isTypeInQuery })
}

/** Reads the JSON body into `request.body`. Throws if it has fields and the operation has no body. */
async function readJsonBodyOf(signature: OperationSignature, request: Request, response: Response): Promise<void> {
  const sender = signature.guard === 'anyone' ? 'anonymous' : 'known'
  await readJsonBody(request, response, { sender, limit: signature.bodyLimit })
  if (!signature.body && isObject(request.body)) assertContract(checkNoFields, request.body)
}

/** Sends the result of a handler as JSON, or a response without a body if the operation has none. */
function sendJson(
  response: Response,
  signature: OperationSignature,
  result: unknown,
  locales: readonly string[],
): void {
  const { body, headers } = result instanceof JsonResponse ? result : new JsonResponse(result)
  response.status(signature.status).set(headers)
  const languages = listUsedLanguages(locales)
  if (languages.length > 0) response.set('Content-Language', languages.join(', '))
  if (signature.response) response.json(body)
  else response.end()
}

function assertContract<T>(check: ReturnType<typeof createContractChecker<T>>, value: unknown): T {
  const checked = check(value)
  if ('violations' in checked) throw problems.violated(checked)
  return checked.value
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws if a query parameter contains NUL, which PostgreSQL cannot store. `readJsonBody` checks bodies. */
function rejectNulCharacters(query: Request['query']): Request['query'] {
  const values = Object.entries(query).flatMap(([name, value]): { path: string; value: unknown }[] => {
    if (!Array.isArray(value)) return [{ path: name, value }]
    // A repeated parameter has a list of values. Their paths are `filter/0`, `filter/1` and so on.
    return value.map((item: unknown, index) => ({ path: `${name}/${index}`, value: item }))
  })
  const hasNul = (value: unknown) => typeof value === 'string' && value.includes('\0')
  const invalidValues = values.filter(({ path, value }) => hasNul(path) || hasNul(value))
  if (invalidValues.length === 0) return { ...query }
  throw problems.malformed(
    invalidValues.slice(0, 100).map(({ path }) => ({
      pointer: `/${path.replaceAll('\0', '')}`.slice(0, 1000),
      detail: 'must not contain the NUL character',
    })),
  )
}

/** Returns the parsed body, or `{}` for a request without a body. */
function readBodyOrEmpty(request: Request): unknown {
  if (request.body !== undefined) return request.body
  const type = request.headers['content-type']
  const empty = !request.headers['transfer-encoding'] && Number(request.headers['content-length'] ?? 0) === 0
  if (!empty) throw problems.unsupportedMediaType(`application/json${type ? `, not ${type}` : ''}`)
  return {}
}

/**
 * Throws 403 if the caller may not call the operation: an application calls an operation for users, the caller lacks
 * all required roles, or the caller did not sign in but the operation requires it.
 */
function assertAuthorized({ guard, inPerson }: OperationSignature, caller: Caller): void {
  if (guard === 'anyone' || guard === 'service') return
  if (guard === 'signed-in' && caller.kind === 'application')
    throw problems.forbidden(
      'Only users can call this operation. Use the token of a user instead of a token that the application got for itself.',
    )
  if (typeof guard !== 'string' && !guard.some((role) => hasRole(caller.roles, role)))
    throw problems.forbidden(`This needs ${guard.join(' or ')}.`)
  const requiresSignIn = inPerson ?? guard === 'in-person'
  if (requiresSignIn && !caller.inPerson)
    throw problems.forbidden(
      'Sign in with your username to call this operation. API tokens and applications cannot call it.',
    )
}

/** Returns the media types that an operation can return, the default one first. */
const listResponseTypes = ({ events, fileTypes = [] }: OperationSignature): readonly string[] =>
  events ? ['text/event-stream'] : ['application/json', ...fileTypes]

/** Returns the facts about a request that handlers use, and the list to which their audit notes are added. */
function readRequestFacts(
  request: Request,
  response: Response,
): Omit<RequestFacts, 'acceptedType'> & { audited: AuditNote[] } {
  const audited: AuditNote[] = []
  const { locale } = request.query
  return {
    id: String(response.locals.requestId),
    address: request.ip ?? '',
    locales: listRequestedLocales(typeof locale === 'string' ? locale : undefined, request.headers['accept-language']),
    ifMatch: parseIfMatch(request.headers['if-match']),
    url: request.originalUrl,
    stream: request,
    audited,
    audit: (object, details = {}, actor) => void audited.push({ object, details, actor }),
  }
}

/** Responds with 405 and the allowed methods to other methods of an existing path. */
function refuseOtherMethods(routes: Router, operations: readonly Operation[], path: string): void {
  const signatures = operations.filter(({ signature }) => signature.path === path).map(({ signature }) => signature)
  const allowed = [...new Set(signatures.map(({ method }) => method.toUpperCase()))]
  const hint = signatures.find(({ otherMethods }) => otherMethods !== undefined)?.otherMethods
  routes.all(path, () => {
    throw problems.methodNotAllowed(allowed, hint)
  })
}

/** Rejects a body with another object's id than the path, because it would overwrite the object in the path. */
function assertOwnId({ method, path }: OperationSignature, { uid }: Record<string, string>, body: unknown): void {
  if (method !== 'put' || uid === undefined || !/\/:uid(\/profile)?$/.test(path)) return
  const { id } = (body ?? {}) as { id?: unknown }
  if (typeof id === 'string' && id.toLowerCase() !== uid.toLowerCase())
    throw problems.refused(
      '/id',
      `The id in the body differs from ${uid}, the id in the URL. Use the URL of that object, or leave id out of the body.`,
    )
}
