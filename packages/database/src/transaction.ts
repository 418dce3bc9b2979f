import type { Kysely, Transaction } from 'kysely'

/** One transaction per piece of work, however deeply it is asked for. */
export function transaction<DB, T>(db: Kysely<DB>, work: (trx: Transaction<DB>) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db as Transaction<DB>) : db.transaction().execute(work)
}
