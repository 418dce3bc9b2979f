import type { TablePlace } from '../catalog.ts'
import { ensureLedger } from './publication-ledger.ts'
import { toWarehouseProblem } from './map-server-errors.ts'
import { recoverPending } from './publication-recovery.ts'
import type { SqlDialect, SqlSession } from './sql-dialect.ts'
import { checkName, quotePlace, withSession } from './table-shape.ts'

/**
 * Sessions on one organisation's part of a server. All modules of the organisation's warehouse share this object. The
 * first use creates or repairs the organisation's schemas and users.
 */
export interface SqlSessions {
  readonly dialect: SqlDialect
  /**
   * Runs `callback` and translates errors of the server. `qualifiedName` is the table or view that the error message
   * names.
   */
  runOnServer<T>(qualifiedName: string, callback: () => Promise<T>): Promise<T>
  /** Runs `callback` in a session of role `service`, after completing pending publications of dead workers. */
  withServiceSession<T>(qualifiedName: string, callback: (session: SqlSession) => Promise<T>): Promise<T>
  /** Like `withServiceSession`, for one table or view. Throws if the warehouse does not allow its names. */
  withTable<T>(
    schema: string,
    table: string,
    callback: (session: SqlSession, place: TablePlace) => Promise<T>,
  ): Promise<T>
  /** Returns the names of a table or view as a `TablePlace`. Throws if the warehouse does not allow them. */
  parsePlace(schema: string, table: string): TablePlace
}

export function sqlSessions(dialect: SqlDialect): SqlSessions {
  let provisioned: Promise<void> | undefined

  /** Provisions the warehouse once per process. After a failure, the next call tries again. */
  const ensureProvisioned = (): Promise<void> =>
    (provisioned ??= provisionWithLedger(dialect).catch((error: unknown) => {
      provisioned = undefined
      throw error
    }))

  async function runOnServer<T>(qualifiedName: string, callback: () => Promise<T>): Promise<T> {
    try {
      await ensureProvisioned()
      return await callback()
    } catch (error) {
      throw toWarehouseProblem(dialect, error, qualifiedName)
    }
  }

  const withServiceSession = <T>(qualifiedName: string, callback: (session: SqlSession) => Promise<T>): Promise<T> =>
    runOnServer(qualifiedName, () =>
      withSession(dialect, { role: 'service' }, async (session) => {
        await recoverPending(dialect, session)
        return callback(session)
      }),
    )

  const parsePlace = (schema: string, name: string): TablePlace => {
    checkName(dialect, 'schema', schema)
    checkName(dialect, 'table', name)
    return { schema, name }
  }

  return {
    dialect,
    runOnServer,
    withServiceSession,
    parsePlace,
    async withTable(schema, name, callback) {
      const place = parsePlace(schema, name)
      return withServiceSession(quotePlace(place), (session) => callback(session, place))
    },
  }
}

/** Creates or repairs the organisation's schemas and users, and creates the missing tables of the ledger. */
async function provisionWithLedger(dialect: SqlDialect): Promise<void> {
  await dialect.provision()
  await withSession(dialect, { role: 'service' }, (session) => ensureLedger(dialect, session))
}
