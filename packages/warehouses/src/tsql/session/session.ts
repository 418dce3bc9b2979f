import type { Connection } from 'tedious'
import type { BatchLimits, SessionOptions, ReadColumn, ReadRows, SqlSession } from '../../sql-warehouse/sql-dialect.ts'
import { plainSql, type SqlStatement } from '../../sql-warehouse/sql-statement.ts'
import type { ClientAccess } from '../tsql-settings.ts'
import { openConnection } from './connect.ts'
import { columnsOf, readQueryRows } from './read-rows.ts'
import { type RowBounds, sendRequest } from './send-request.ts'

/** Milliseconds that a table change waits for a lock that readers of the table hold. */
const lockTimeoutMs = 10_000

export async function openSession(
  access: ClientAccess,
  { role, signal, seconds }: SessionOptions,
): Promise<SqlSession> {
  signal?.throwIfAborted()
  const connection = await openConnection(access.logins[role])
  return new TsqlSession(connection, { signal, seconds })
}

export class TsqlSession implements SqlSession {
  readonly #connection: Connection
  readonly #bounds: RowBounds

  constructor(connection: Connection, bounds: RowBounds) {
    this.#connection = connection
    this.#bounds = bounds
  }

  async execute(statement: SqlStatement): Promise<void> {
    await sendRequest(this.#connection, statement, this.#bounds).completion
  }

  async rows<Row>(statement: SqlStatement): Promise<Row[]> {
    const rows: Row[] = []
    await sendRequest(this.#connection, statement, this.#bounds, {
      row(cells) {
        const entries = cells.map(({ metadata, value }) => {
          const isInteger = metadata.type.name.startsWith('Int')
          return [metadata.colName, isInteger ? toNumberIfExact(value) : value]
        })
        rows.push(Object.fromEntries(entries) as Row)
      },
    }).completion
    return rows
  }

  /** Runs `callback` in a transaction, which is rolled back if `callback` throws. */
  async transaction<Result>(callback: () => Promise<Result>): Promise<Result> {
    await this.execute(plainSql(`set lock_timeout ${lockTimeoutMs}`))
    await this.#callDriver('beginTransaction')
    try {
      const result = await callback()
      await this.#callDriver('commitTransaction')
      return result
    } catch (error) {
      await this.#callDriver('rollbackTransaction').catch(() => {})
      throw error
    }
  }

  read(text: string, values: readonly (string | null)[], batch: BatchLimits): AsyncIterable<ReadRows> {
    return readQueryRows(this.#connection, { text, values }, batch, this.#bounds)
  }

  columns(text: string): Promise<readonly ReadColumn[]> {
    return columnsOf(this.#connection, text, this.#bounds)
  }

  /** Calls a method of the driver that takes a callback. */
  #callDriver(method: 'beginTransaction' | 'commitTransaction' | 'rollbackTransaction'): Promise<void> {
    const completion = Promise.withResolvers<void>()
    this.#connection[method]((error?: Error | null) => (error ? completion.reject(error) : completion.resolve()))
    return completion.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.close()
  }
}

/** Converts a 64-bit integer, which the driver returns as text, to a number if the number is exact. */
function toNumberIfExact(value: unknown): unknown {
  const number = Number(value)
  return typeof value === 'string' && Number.isSafeInteger(number) ? number : value
}
