import type { Request, Response } from 'express'
import type { Kysely } from 'kysely'
import { anonymousCaller, type AuditActor, type AuditNote, type Operation } from '@sluice/http-server'
import { auditedWrites, type AuditedWrite } from '@sluice/records'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'

/** The context that an API operation gets when a page runs it. */
export interface PageContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  config: Config
  request: {
    id: string
    address: string
    userAgent: string
    audit(object: string | null, details?: object, actor?: AuditActor): void
  }
}

export type AuditedPageWrite = <T>(
  operation: string,
  request: Request,
  response: Response,
  callback: (context: PageContext) => Promise<T>,
) => Promise<T>

/**
 * Returns a function with which pages run an API operation, such as `auth.resetPassword`, with an audit row but without
 * a signed-in caller.
 */
export function auditPageWrites(db: Kysely<DB>, config: Config): AuditedPageWrite {
  const runAudited = auditedWrites(db)
  return (operationId, request, response, callback) => {
    response.locals.operation = operationId
    // `runAudited` reads only these properties of an operation.
    const operation = { signature: { id: operationId, effect: 'write' } } as Operation
    const requestFacts = readRequestFacts(request, response)
    const { id, address, audit } = requestFacts
    const userAgent = request.get('user-agent') ?? ''
    return runAudited(operation, anonymousCaller, requestFacts, { config }, (context) =>
      callback({ ...context, request: { id, address, userAgent, audit } }),
    )
  }
}

/** Returns the facts about a request that `auditedWrites` needs. It writes the notes in `audited` as audit rows. */
function readRequestFacts(request: Request, response: Response) {
  const audited: AuditNote[] = []
  const audit: PageContext['request']['audit'] = (object, details = {}, actor) =>
    void audited.push({ object, details, actor })
  return {
    id: String(response.locals.requestId),
    address: request.ip ?? '',
    locales: [],
    acceptedType: '',
    ifMatch: undefined,
    url: request.originalUrl,
    stream: request,
    audited,
    audit,
  }
}
