import type { Kysely, Transaction } from 'kysely'
import { type AuditFacts, recordAudits, transaction } from '@sluice/database'
import { type Signature, secretName } from '@sluice/contracts'
import {
  type AuditNote,
  type Caller,
  type Operation,
  RefusedElsewhere,
  type RequestFacts,
  Semaphore,
  problems,
} from '@sluice/http'

/** Runs the writing part of an operation: one transaction, with the audit rows of what was noted in it. */
export interface Write<DB> {
  <T>(work: (trx: Transaction<DB>) => Promise<T>): Promise<T>
  /**
   * The same for one statement that brings its audit row itself (see `auditing`), where the round trips of a transaction
   * would cost more than the work. Answering undefined, it wrote nothing, and `write` is to be asked.
   */
  atOnce<T>(statement: (db: Kysely<DB>, facts: AuditFacts) => Promise<T | undefined>): Promise<T | undefined>
}

type TransactionRunner<DB> = <T>(work: (trx: Transaction<DB>) => Promise<T>) => Promise<T>

/** What every handler of both services is given. */
export interface DatabaseContext<DB> {
  db: Kysely<DB>
  write: Write<DB>
}

export interface AuditedWriteOptions<DB> {
  /**
   * Locks the caller until the transaction ends, and throws a problem when they are no longer who they were when the
   * request came: what ends somebody's power waits for what they are writing, or they write no more.
   */
  demandStill?(trx: Transaction<DB>, caller: Caller): Promise<void>
  /** Connections of their own for searches, which may take long: nobody waits behind them to sign in. */
  searches?: Kysely<DB>
}

/**
 * Searches at once, shared by clients: fewer than there are connections, so that nobody else waits for one. What they may cost is the
 * statement timeout of their connections.
 */
const searchLimits = { total: 6, each: 2, waiting: 50, title: 'Too many searches of your organisation are under way.' }

const deadlock = '40P01'
const timeout = '57014'

/**
 * The database as one operation may use it. What other services are asked stays outside of `write`, before or after, so
 * that no transaction waits for a network. A write operation that answers without having written is a bug, and says so.
 */
export function auditedWrites<DB>(db: Kysely<DB>, { demandStill, searches = db }: AuditedWriteOptions<DB> = {}) {
  const shares = new Semaphore(searchLimits)
  return async <T, Context extends object>(
    { signature }: Operation,
    caller: Caller,
    facts: RequestFacts & { audited: AuditNote[] },
    more: Context,
    work: (context: DatabaseContext<DB> & Context) => Promise<T>,
  ): Promise<T> => {
    let written = false
    const inTransaction: TransactionRunner<DB> = async (change) => {
      const before = facts.audited.length
      const result = await retryAfterDeadlock(() => {
        facts.audited.length = before
        return transaction(db, async (trx) => {
          if (caller.kind !== 'nobody') await demandStill?.(trx, caller)
          const changed = await change(trx)
          const notes = facts.audited.length > 0 ? facts.audited : [{ object: null, details: {}, by: undefined }]
          const entries = notes.map(({ object, details, by }) => ({
            operation: signature.id,
            actor: by?.user ?? (caller.uid || null),
            client: by?.client ?? (caller.client || null),
            object,
            requestId: facts.id,
            address: facts.address,
            details,
          }))
          await recordAudits(trx, entries)
          return changed
        })
      })
      written = true
      facts.audited.length = 0
      return result
    }
    const atOnce: Write<DB>['atOnce'] = async (statement) => {
      const result = await statement(db, { operation: signature.id, requestId: facts.id, address: facts.address })
      if (result !== undefined) written = true
      return result
    }
    const write = Object.assign(inTransaction, { atOnce })
    const isSearch = signature.effect === 'read' && takesFilters(signature)
    const answer = isSearch
      ? await shares.run(caller.client, () => reportTimeout(work({ ...more, db: searches, write })))
      : await work({ ...more, db, write })
    if (signature.effect === 'write' && !written && !(answer instanceof RefusedElsewhere))
      throw new Error(`${signature.id} is declared a write, but nothing was written`)
    return answer
  }
}

/** Lists and reports: whatever takes filters by its contract. */
function takesFilters({ query, body }: Signature): boolean {
  const has = (contract: unknown) => 'filter' in ((contract as { properties?: object } | undefined)?.properties ?? {})
  return has(query) || has(body)
}

async function reportTimeout<T>(search: Promise<T>): Promise<T> {
  try {
    return await search
  } catch (error) {
    if ((error as { code?: string }).code !== timeout) throw error
    throw problems.tooCostly()
  }
}

/** How often those that lock each other in turn are let go by the database; as many edit each other in a ring at most. */
const maxDeadlockAttempts = 4

/** Whoever was let go finds the others' changes now, or another ring. */
async function retryAfterDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: string }).code !== deadlock || tries >= maxDeadlockAttempts) throw error
    }
}

/** A copy of a body or row for the audit, in which no secret is left: whatever has a secret's name goes, whole. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isSecret(name, part) ? '[redacted]' : withoutSecrets(part)]),
  )
}

/** Whether there is one is no secret. */
const isSecret = (name: string, value: unknown): boolean =>
  value !== null && value !== undefined && typeof value !== 'boolean' && secretName.test(name)
