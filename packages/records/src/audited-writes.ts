import type { Kysely, Transaction } from 'kysely'
import { type AuditContext, recordAudits, transaction } from '@sluice/database'
import { type OperationSignature, secretName } from '@sluice/contracts'
import {
  type AuditNote,
  type Caller,
  type Operation,
  ProblemPageRedirect,
  type RequestFacts,
  Semaphore,
  problems,
} from '@sluice/http-server'

/** Runs the writes of an operation and their audit rows in one transaction. */
export interface AuditedWrite<DB> {
  <T>(callback: (trx: Transaction<DB>) => Promise<T>): Promise<T>
  /**
   * Runs a single statement that contains its own audit row (see `auditing`), which saves the network round trips of a
   * transaction. If it returns undefined, it wrote nothing, and the caller must use `write`.
   */
  inOneStatement<T>(
    statement: (db: Kysely<DB>, auditContext: AuditContext) => Promise<T | undefined>,
  ): Promise<T | undefined>
}

type TransactionRunner<DB> = <T>(callback: (trx: Transaction<DB>) => Promise<T>) => Promise<T>

/** The database access that every handler receives. */
export interface DatabaseContext<DB> {
  db: Kysely<DB>
  write: AuditedWrite<DB>
}

export interface AuditedWriteOptions<DB> {
  /**
   * Locks the caller's principal (user or application) until the transaction ends, and throws a problem if their roles
   * have changed since the request arrived. So a change of roles waits for running writes, or prevents them.
   */
  assertCallerUnchanged?(trx: Transaction<DB>, caller: Caller): Promise<void>
  /** Separate connections for searches, so that slow searches do not block sign-ins. */
  searches?: Kysely<DB>
}

/**
 * Limits concurrent searches, shared fairly among organisations. They are fewer than the connections, so that other
 * work always finds one. The connections' statement time-out limits their duration.
 */
const searchLimits = {
  total: 6,
  each: 2,
  waiting: 50,
  title: 'Too many searches of your organisation are in progress.',
}

const deadlockCode = '40P01'
const queryCanceledCode = '57014'

/**
 * Returns the function that runs an operation with its database access. Requests to other services must stay outside
 * `write`, so that no transaction waits for a network. Throws if a write operation returns without having written.
 */
export function auditedWrites<DB>(
  db: Kysely<DB>,
  { assertCallerUnchanged, searches = db }: AuditedWriteOptions<DB> = {},
) {
  const searchSlots = new Semaphore(searchLimits)
  return async <T, Context extends object>(
    { signature }: Operation,
    caller: Caller,
    requestFacts: RequestFacts & { audited: AuditNote[] },
    dependencies: Context,
    handle: (context: DatabaseContext<DB> & Context) => Promise<T>,
  ): Promise<T> => {
    let hasWritten = false
    const inTransaction: TransactionRunner<DB> = async (change) => {
      const before = requestFacts.audited.length
      const result = await retryAfterDeadlock(() => {
        requestFacts.audited.length = before
        return transaction(db, async (trx) => {
          if (caller.kind !== 'nobody') await assertCallerUnchanged?.(trx, caller)
          const result = await change(trx)
          await recordAudits(trx, toAuditEntries(requestFacts, signature.id, caller))
          return result
        })
      }).catch((error: unknown) => {
        // Discards the audit notes of the write that was rolled back, so that a later write of the operation does not
        // record them.
        requestFacts.audited.length = before
        throw error
      })
      hasWritten = true
      requestFacts.audited.length = 0
      return result
    }
    const inOneStatement: AuditedWrite<DB>['inOneStatement'] = async (statement) => {
      const result = await statement(db, {
        operation: signature.id,
        requestId: requestFacts.id,
        address: requestFacts.address,
      })
      if (result !== undefined) hasWritten = true
      return result
    }
    const write = Object.assign(inTransaction, { inOneStatement })
    const isSearch = signature.effect === 'read' && takesFilters(signature)
    const result = isSearch
      ? await searchSlots.run(caller.client, () => reportTimeout(handle({ ...dependencies, db: searches, write })))
      : await handle({ ...dependencies, db, write })
    const mustWrite = signature.effect === 'write' && !signature.mayWriteNothing
    if (mustWrite && !hasWritten && !(result instanceof ProblemPageRedirect))
      throw new Error(`${signature.id} is declared a write, but nothing was written`)
    return result
  }
}

/**
 * Returns the audit rows of a write: one per note of its handler, or one without details if the handler made no note.
 * The user and client are those of the note's actor (such as the user who signs in), otherwise those of the caller. An
 * anonymous caller has empty texts, which become null.
 */
function toAuditEntries(
  { id, address, audited }: RequestFacts & { audited: AuditNote[] },
  operation: string,
  caller: Caller,
) {
  const emptyNote = { object: null, details: {}, actor: undefined }
  const notes = audited.length > 0 ? audited : [emptyNote]
  const callerUid = caller.uid || null
  const callerName = caller.username || null
  const callerClient = caller.client || null
  return notes.map(({ object, details, actor }) => ({
    operation,
    actor: actor?.user ?? callerUid,
    actorName: actor ? null : callerName,
    client: actor?.client ?? callerClient,
    object,
    requestId: id,
    address,
    details,
  }))
}

/** Returns whether the query or body has a `filter`, or the query a cursor, as lists and reports do. */
function takesFilters({ query, body }: OperationSignature): boolean {
  const hasField = (contract: unknown, name: string) =>
    name in ((contract as { properties?: object } | undefined)?.properties ?? {})
  return hasField(query, 'filter') || hasField(query, 'after') || hasField(body, 'filter')
}

/** Returns the result of a search. Throws the problem of a too costly search if it exceeds the time limit. */
async function reportTimeout<T>(search: Promise<T>): Promise<T> {
  try {
    return await search
  } catch (error) {
    if ((error as { code?: string }).code !== queryCanceledCode) throw error
    throw problems.tooCostly()
  }
}

/** The maximum attempts of a transaction that deadlocks. */
const maxDeadlockAttempts = 4

/** Runs `callback`, and again if PostgreSQL aborted it because of a deadlock, at most four times in total. */
async function retryAfterDeadlock<T>(callback: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await callback()
    } catch (error) {
      const isDeadlock = (error as { code?: string }).code === deadlockCode
      if (!isDeadlock || tries >= maxDeadlockAttempts) throw error
    }
  }
}

/** Returns a copy of a body or row for the audit log, in which all fields named like secrets are redacted. */
export function redactSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactSecrets)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, fieldValue]) => [
      name,
      isSecret(name, fieldValue) ? '[redacted]' : redactSecrets(fieldValue),
    ]),
  )
}

/**
 * Returns whether a field must be redacted. Booleans, null and undefined are not redacted, because they only show
 * whether a secret exists.
 */
const isSecret = (name: string, value: unknown): boolean =>
  value !== null && value !== undefined && typeof value !== 'boolean' && secretName.test(name)
