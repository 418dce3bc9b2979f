import type { Kysely, Transaction } from 'kysely'
import { recordAudit, transaction, type AuditFacts } from '@sluice/database'
import type { AuditNote, Caller, Operation, RequestFacts } from '@sluice/http'

/** Runs the writing part of an operation: one transaction, with the audit rows of what was noted in it. */
export interface Write<DB> {
  <T>(work: (trx: Transaction<DB>) => Promise<T>): Promise<T>
  /**
   * The same for one statement that brings its audit row itself (see `auditing`), where the round trips of a transaction
   * would cost more than the work. Answering undefined, it wrote nothing, and `write` is to be asked.
   */
  atOnce<T>(statement: (db: Kysely<DB>, facts: AuditFacts) => Promise<T | undefined>): Promise<T | undefined>
}

type OneTransaction<DB> = <T>(work: (trx: Transaction<DB>) => Promise<T>) => Promise<T>

/** What every handler of both services is given. */
export interface DatabaseContext<DB> {
  db: Kysely<DB>
  write: Write<DB>
}

/**
 * The database as one operation may use it. What other services are asked stays outside of `write`, before or after, so
 * that no transaction waits for a network. A write operation that answers without having written is a bug, and says so.
 */
export function auditedWrites<DB>(db: Kysely<DB>) {
  return async <T, Context extends object>(
    { signature }: Operation,
    caller: Caller,
    facts: RequestFacts & { audited: AuditNote[] },
    more: Context,
    work: (context: DatabaseContext<DB> & Context) => Promise<T>,
  ): Promise<T> => {
    let written = false
    const inTransaction: OneTransaction<DB> = async (change) => {
      const result = await transaction(db, async (trx) => {
        const changed = await change(trx)
        const notes = facts.audited.length > 0 ? facts.audited : [{ object: null, details: {}, by: undefined }]
        for (const { object, details, by } of notes) {
          await recordAudit(trx, {
            operation: signature.id,
            actor: by?.user ?? (caller.uid || null),
            client: by?.client ?? (caller.client || null),
            object,
            requestId: facts.id,
            address: facts.address,
            details,
          })
        }
        return changed
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
    const answer = await work({ ...more, db, write })
    if (signature.effect === 'write' && !written)
      throw new Error(`${signature.id} is declared a write, but nothing was written`)
    return answer
  }
}
