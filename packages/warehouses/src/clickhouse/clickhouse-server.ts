import { type ClientAccess, provisionClickHouse } from './clickhouse-settings.ts'
import { checkSchemaName, checkTableName, quotePlace } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { ignoreBusy, recoverPending } from './publication/recovery.ts'

/** One client's databases on a ClickHouse server: one database per schema. All modules of the client's warehouse share this object. */
export interface ClickHouseServer {
  readonly access: ClientAccess
  /** The number of days for which replaced tables are kept. */
  readonly keepDays: number
  /** Creates or repairs the client's part of the server, once per process; repeated after a failure. */
  ensureProvisioned(): Promise<void>
  /** Runs work in the warehouse. `qualifiedName` is the subject of the sentence if the server reports an error. */
  run<T>(qualifiedName: string, callback: () => Promise<T>): Promise<T>
  /** Like `run`, after finishing publications that a dead worker had decided. */
  runRecovered<T>(qualifiedName: string, callback: () => Promise<T>): Promise<T>
  /** Returns the place for messages. Throws if the warehouse does not allow the names. */
  checkedPlace(schema: string, table: string): string
}

/** Returns the object that all modules of a client's warehouse share. */
export function clickHouseServer(access: ClientAccess, keepDays: number): ClickHouseServer {
  let provisioned: Promise<void> | undefined

  const ensureProvisioned = (): Promise<void> =>
    (provisioned ??= provisionClickHouse(access).catch((error: unknown) => {
      provisioned = undefined
      throw error
    }))

  async function run<T>(qualifiedName: string, callback: () => Promise<T>): Promise<T> {
    await ensureProvisioned()
    return callback().catch((error: unknown) => {
      throw warehouseProblem(error, qualifiedName)
    })
  }

  return {
    access,
    keepDays,
    ensureProvisioned,
    run,
    runRecovered: (qualifiedName, callback) =>
      run(qualifiedName, async () => {
        await recoverPending(access).catch(ignoreBusy)
        return callback()
      }),
    checkedPlace(schema, table) {
      checkSchemaName(schema)
      checkTableName(table)
      return quotePlace(schema, table)
    },
  }
}
