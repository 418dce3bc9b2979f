import { Router, type Request, type Response } from 'express'
import type { Logger } from '@sluice/process'
import { checker, holds, PlainQuery, type Guard, type Signature } from '@sluice/contracts'
import { Answer, Redirect, versionOf } from './answer.ts'
import { EventStream, sendEvents } from './event-stream.ts'
import { nobody, type Actor, type Caller, type Operation, type RequestFacts } from './operation.ts'
import { problems } from './problem.ts'
import { localesOf } from './locales.ts'
import { readJsonBody } from './read-json-body.ts'

export interface Surroundings<Context> {
  logger: Logger
  isStopping(): boolean
  /** Throws 401 for whoever cannot be recognised. Not asked where the guard is `anyone`. */
  authenticate(request: Request, guard: Guard): Promise<Caller>
  /** Runs a handler with what it needs: the pool for a read, one audited transaction for a write. */
  run<T>(
    operation: Operation<Context>,
    caller: Caller,
    facts: RequestFacts & { audited: AuditNote[] },
    work: (context: Context) => Promise<T>,
  ): Promise<T>
}

export interface AuditNote {
  object: string | null
  details: object
  by: Actor | undefined
}

/** The whole road from request to response, for every operation of a service. */
export function router<Context>(
  operations: readonly Operation<Context>[],
  surroundings: Surroundings<Context>,
): Router {
  const routes = Router({ caseSensitive: true, strict: true })
  for (const operation of operations) {
    const { method, path } = operation.signature
    routes[method](path, answerer(operation, surroundings))
  }
  refuseOtherMethods(routes, operations)
  return routes
}

/** Of operations without a query: a parameter that nobody reads would be left out without a word, as `?mode=INCREMENTAL` of a run. */
const checkPlainQuery = checker(PlainQuery, 'query')

function answerer<Context>(operation: Operation<Context>, surroundings: Surroundings<Context>) {
  const { authenticate, run } = surroundings
  const { signature } = operation
  const checkQuery = signature.query ? checker(signature.query, 'query') : checkPlainQuery
  const checkBody = signature.body && checker(signature.body)

  return async (request: Request, response: Response) => {
    response.locals.operation = signature.id
    const caller = signature.guard === 'anyone' ? nobody : await authenticate(request, signature.guard)
    response.locals.caller = caller
    authorize(signature, caller)

    const query = demand(checkQuery, withoutNul(request.query))
    // Only now: nobody's body costs anything before they are known and allowed.
    if (!signature.upload) await readJsonBody(request, response, signature.guard === 'anyone' ? 'anonymous' : 'known')
    const facts = factsOf(request, response)
    const input = {
      caller,
      params: request.params as Record<string, string>,
      query: signature.query && query,
      body: checkBody && demand(checkBody, bodyOf(request)),
      request: facts,
    }
    const result = await run(operation, caller, facts, (context) => operation.handle({ ...context, ...input }))
    if (result instanceof Redirect) return void response.status(302).set(result.headers).end()
    if (result instanceof EventStream) return sendEvents(response, result, surroundings)
    const { body, headers } = result instanceof Answer ? result : new Answer(result)
    response.status(signature.status).set(headers)
    if (signature.response) response.json(body)
    else response.end()
  }
}

function demand<T>(check: ReturnType<typeof checker<T>>, given: unknown): T {
  const checked = check(given)
  if ('violations' in checked) throw problems.malformed(checked.violations)
  return checked.value
}

/** PostgreSQL keeps no NUL. Bodies are looked at before they are parsed. */
function withoutNul(query: Request['query']): Request['query'] {
  const texts = Object.entries(query).flatMap(([name, given]) =>
    Array.isArray(given) ? given.map((one, at) => [`${name}/${at}`, one] as const) : [[name, given] as const],
  )
  const holding = texts.filter(
    ([name, text]) => name.includes('\0') || (typeof text === 'string' && text.includes('\0')),
  )
  if (holding.length === 0) return { ...query }
  throw problems.malformed(
    holding.slice(0, 100).map(([name]) => ({
      pointer: `/${name.replaceAll('\0', '')}`.slice(0, 1000),
      detail: 'must not contain the NUL character',
    })),
  )
}

/** An operation whose fields are all optional may be asked without a body. */
function bodyOf(request: Request): unknown {
  if (request.body !== undefined) return request.body
  const type = request.headers['content-type']
  const empty = !request.headers['transfer-encoding'] && Number(request.headers['content-length'] ?? 0) === 0
  if (!empty) throw problems.unsupportedMediaType(`application/json${type ? `, not ${type}` : ''}`)
  return {}
}

function authorize({ guard, inPerson = guard === 'in-person' }: Signature, caller: Caller): void {
  if (guard === 'anyone' || guard === 'service') return
  if (guard === 'signed-in' && caller.kind === 'application')
    throw problems.forbidden('This is for people: an application that acts for itself has no user.')
  if (typeof guard !== 'string' && !guard.some((role) => holds(caller.roles, role)))
    throw problems.forbidden(`This needs ${guard.join(' or ')}.`)
  if (inPerson && !caller.inPerson)
    throw problems.forbidden(
      'This is done in person only: sign in with your username, not with a token or an application.',
    )
}

function factsOf(request: Request, response: Response): RequestFacts & { audited: AuditNote[] } {
  const audited: AuditNote[] = []
  const { locale } = request.query
  return {
    id: String(response.locals.requestId),
    address: request.ip ?? '',
    locales: localesOf(typeof locale === 'string' ? locale : undefined, request.headers['accept-language']),
    ifMatch: versionOf(request.headers['if-match']),
    url: request.originalUrl,
    stream: request,
    audited,
    audit: (object, details = {}, by) => void audited.push({ object, details, by }),
  }
}

/** After all routes: a path that exists but not for this method is a 405 that says which would do. */
function refuseOtherMethods(routes: Router, operations: readonly Operation[]): void {
  const methods = Map.groupBy(operations, ({ signature }) => signature.path)
  for (const [path, there] of methods) {
    const allowed = [...new Set(there.map(({ signature }) => signature.method.toUpperCase()))]
    routes.all(path, () => {
      throw problems.methodNotAllowed(allowed)
    })
  }
}
