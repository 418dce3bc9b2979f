import { type ClientAccess, provisionClickHouse } from './clickhouse-settings.ts'
import { checkSchemaName, checkTableName, quotePlace } from './sql-identifiers.ts'
import { warehouseProblem } from './map-server-errors.ts'
import { completePendingPublication } from './publishing/publication-recovery.ts'

/**
 * One organisation's databases on a ClickHouse server: one database per schema. All modules of the organisation's
 * warehouse share this object.
 */
export interface ClickHouseServer {
  readonly access: ClientAccess
  /** The number of days for which replaced tables are kept, so that a load can be undone. */
  readonly keepDays: number
  /**
   * Creates or repairs the organisation's databases and users, once per process. After a failure, the next call tries
   * again.
   */
  ensureProvisioned(): Promise<void>
  /**
   * Provisions the organisation if necessary, runs `callback` and converts errors of the server to `WarehouseProblem`.
   * `subject` is what an error message names: a quoted table name, or a phrase such as `the ledger`.
   */
  runOnServer<T>(subject: string, callback: () => Promise<T>): Promise<T>
  /** Like `runOnServer`, but first completes publications that a crashed worker had decided but not finished. */
  runAfterRecovery<T>(subject: string, callback: () => Promise<T>): Promise<T>
  /** Returns the table's name for messages: `"schema"."table"`. Throws if the warehouse does not allow the names. */
  quoteAllowedName(schema: string, table: string): string
}

/** Returns the object that all modules of an organisation's warehouse share. */
export function clickHouseServer(access: ClientAccess, keepDays: number): ClickHouseServer {
  let provisioning: Promise<void> | undefined

  function ensureProvisioned(): Promise<void> {
    provisioning ??= provisionClickHouse(access).catch((error: unknown) => {
      // The next call tries again.
      provisioning = undefined
      throw error
    })
    return provisioning
  }

  async function runOnServer<T>(subject: string, callback: () => Promise<T>): Promise<T> {
    await ensureProvisioned()
    return callback().catch((error: unknown) => {
      throw warehouseProblem(error, subject)
    })
  }

  return {
    access,
    keepDays,
    ensureProvisioned,
    runOnServer,
    runAfterRecovery: (subject, callback) =>
      runOnServer(subject, async () => {
        await completePendingPublication(access)
        return callback()
      }),
    quoteAllowedName(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return quotePlace(schema, table)
    },
  }
}
