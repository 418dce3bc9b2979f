import type { Request, Response } from 'express'
import type { Kysely } from 'kysely'
import { anonymousCaller, type AuditActor, type AuditNote, type Operation } from '@sluice/http-server'
import { auditedWrites, type AuditedWrite } from '@sluice/records'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'

/** The context that an API operation gets when a page runs it. */
interface PageContext {
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
  const run = auditedWrites(db)
  return (id, request, response, callback) => {
    response.locals.operation = id
    const notes: AuditNote[] = []
    const address = request.ip ?? ''
    const audit: PageContext['request']['audit'] = (object, details = {}, actor) =>
      void notes.push({ object, details, actor })
    const requestId = String(response.locals.requestId)
    const requestFacts = {
      id: requestId,
      address,
      locales: [],
      acceptedType: '',
      ifMatch: undefined,
      url: request.originalUrl,
      stream: request,
      audited: notes,
      audit,
    }
    const userAgent = request.get('user-agent') ?? ''
    const operation = { signature: { id, effect: 'write' } } as Operation
    return run(operation, anonymousCaller, requestFacts, { config }, (context) =>
      callback({ ...context, request: { id: requestId, address, userAgent, audit } }),
    )
  }
}
