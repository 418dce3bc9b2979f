import type { Connection } from 'tedious'
import { trimStatementEnd } from '../../sql-text/sql-tokens.ts'
import type { BatchLimits, ReadColumn, ReadRows } from '../../sql-warehouse/sql-dialect.ts'
import { type BoundValue, type SqlStatement, sql } from '../../sql-warehouse/sql-statement.ts'
import type { RowCell } from '../../warehouse.ts'
import { cellReader, losesDigits, resultType } from './cells.ts'
import { assertSingleQuery } from '../statements/assert-single-query.ts'
import { splitOrderedQuery, columnName } from '../statements/split-ordered-query.ts'
import { type RowBounds, type DriverCell, sendRequest } from './send-request.ts'
import { tsqlTokens } from '../statements/tokens.ts'
import { describeType } from '../types.ts'

interface ReadRequest {
  text: string
  values: readonly (string | null)[]
}

/**
 * See `Session.read`. Sends the query unchanged and fetches rows only as the caller reads them. If the driver would
 * lose digits of a column, an outer query reads that column as text.
 */
export async function* readQueryRows(
  connection: Connection,
  request: ReadRequest,
  batch: BatchLimits,
  bounds: RowBounds,
): AsyncGenerator<ReadRows> {
  const text = trimStatementEnd(request.text)
  assertSingleQuery(text)
  let columns: readonly ReadColumn[] = await describeColumns(connection, { ...request, text }, bounds)
  if (!columns.some(({ type }) => losesDigits(type))) {
    try {
      yield* withErrorPosition(text, streamBatches(connection, bindValues(text, request.values), batch, bounds))
      return
    } catch (error) {
      if (!(error instanceof RoundedColumns)) throw error
      columns = error.columns
    }
  }
  yield* streamBatches(connection, bindValues(readAsText(text, columns), request.values), batch, bounds, columns)
}

/** Returns the result columns of a query. Runs the query only if the server cannot describe it in advance. */
export async function columnsOf(
  connection: Connection,
  text: string,
  bounds: RowBounds,
): Promise<readonly ReadColumn[]> {
  const query = { text: trimStatementEnd(text), values: [] }
  assertSingleQuery(query.text)
  const describedColumns = await describeColumns(connection, query, bounds)
  if (describedColumns.length > 0) return describedColumns
  for await (const { columns } of readQueryRows(connection, query, { rows: 1, bytes: () => 1 }, bounds)) return columns
  return []
}

/**
 * Thrown if the driver would round a column's numbers and the server could not describe the column in advance. No row
 * has been returned yet, so the query can be repeated with that column as text.
 */
class RoundedColumns extends Error {
  override readonly name = 'Rounded'
  readonly columns: readonly ReadColumn[]

  constructor(columns: readonly ReadColumn[]) {
    super('Digits would be lost.')
    this.columns = columns
  }
}

/**
 * Yields the rows. Adds a column position to the server's errors, which contain only a line and a word: the position of
 * the word in that line.
 */
async function* withErrorPosition(text: string, rows: AsyncGenerator<ReadRows>): AsyncGenerator<ReadRows> {
  try {
    yield* rows
  } catch (error) {
    const { message = '', lineNumber } = error as { message?: string; lineNumber?: number }
    const [, word] = /near (?:the keyword )?'([^']+)'|column name '([^']+)'/.exec(message)?.filter(Boolean) ?? []
    const line = lineNumber ? text.split('\n')[lineNumber - 1] : undefined
    const index = word && line ? line.indexOf(word) : -1
    if (index >= 0) Object.assign(error as Error, { column: index + 1 })
    throw error
  }
}

/** Binds each value with the type that it looks like: integer, number or text. */
function bindValues(text: string, values: readonly (string | null)[]): SqlStatement {
  const texts = ['']
  const bindings: (string | number | null)[] = []
  let copiedTo = 0
  for (const { kind, text: mark, start, end } of tsqlTokens(text)) {
    const value = kind === 'parameter' ? values[Number(mark.slice(1)) - 1] : undefined
    if (value === undefined) continue
    texts[texts.length - 1] += text.slice(copiedTo, start)
    bindings.push(parseExactNumber(value))
    texts.push('')
    copiedTo = end
  }
  texts[texts.length - 1] += text.slice(copiedTo)
  return { texts, values: bindings }
}

/** Returns a number if the text is a number that a double represents exactly. Otherwise returns the text. */
function parseExactNumber(value: string | null): string | number | null {
  if (value === null || !/^-?(0|[1-9]\d*)(\.\d+)?$/.test(value)) return value
  const number = Number(value)
  return String(number) === value && (Number.isSafeInteger(number) || !Number.isInteger(number)) ? number : value
}

/**
 * Returns the server's description of the result columns before the query runs. Returns an empty list if the server
 * cannot describe them; running the query then reports the reason.
 */
async function describeColumns(
  connection: Connection,
  { text, values }: ReadRequest,
  bounds: RowBounds,
): Promise<ReadColumn[]> {
  const { texts, values: bindings } = bindValues(text, values)
  const declarations = bindings.map((value, index) => `@p${index + 1} ${parameterTypeName(value)}`)
  const query = texts.reduce((before, next, index) => `${before}@p${index}${next}`)
  const columns: ReadColumn[] = []
  const { completion: requestDone } = sendRequest(
    connection,
    sql`exec sp_describe_first_result_set ${query}, ${declarations.join(', ') || null}, 0`,
    bounds,
    {
      row: (cells) => {
        const { is_hidden, name, system_type_name } = Object.fromEntries(
          cells.map(({ metadata, value }) => [metadata.colName, value]),
        )
        const typeName = textOrDefault(system_type_name, 'nvarchar(max)').replace(/^numeric/, 'decimal')
        if (!is_hidden) columns.push({ name: textOrDefault(name, ''), type: typeName, ...describeType(typeName) })
      },
    },
  )
  await requestDone.catch(() => bounds.signal?.throwIfAborted())
  return columns
}

/** Returns the SQL type with which a value is bound. */
function parameterTypeName(value: BoundValue): string {
  if (typeof value !== 'number') return 'nvarchar(max)'
  return Number.isInteger(value) ? 'bigint' : 'float'
}

const textOrDefault = (value: unknown, fallback: string): string => (typeof value === 'string' ? value : fallback)

/** Returns an outer query that reads these columns as text, in the row order of the inner query. */
function readAsText(text: string, columns: readonly ReadColumn[]): string {
  const { before, from, by, rest } = splitOrderedQuery(text, columns)
  const columnList = columns.map(({ type }, index) => {
    const name = columnName(index)
    return losesDigits(type) ? `convert(varchar(60), ${name}${type.includes('money') ? ', 2' : ''})` : name
  })
  return `${before}select ${columnList.join(', ')} from ${from}${by === '' ? '' : ` order by ${by}`} ${rest}`
}

/** Yields the rows in batches. `knownColumns` are the original types of columns that the query reads as text. */
async function* streamBatches(
  connection: Connection,
  statement: SqlStatement,
  batch: BatchLimits,
  bounds: RowBounds,
  knownColumns?: readonly ReadColumn[],
): AsyncGenerator<ReadRows> {
  let columns: ReadColumn[] | undefined
  let readers: ((value: unknown) => RowCell)[] = []
  let rowBatch: { rows: RowCell[][]; bytes: number } = { rows: [], bytes: 0 }
  let failure: { error: unknown } | undefined
  let hasEnded = false
  /** Resolves when a batch is full, and after the last row. */
  let batchReady = Promise.withResolvers<void>()
  const { request, completion: requestDone } = sendRequest(connection, statement, bounds, {
    columns(descriptions) {
      // Ignores a second result, because the text is a single query.
      if (columns) return
      columns = descriptions.map((description, index) => knownColumns?.[index] ?? toReadColumn(description))
      readers = columns.map((column) => cellReader(column.type, column))
      if (knownColumns || !columns.some(({ type }) => losesDigits(type))) return
      failure = { error: new RoundedColumns(columns) }
      request.cancel()
    },
    row(cells) {
      try {
        rowBatch.rows.push(cells.map(({ value }, index) => readers[index]!(value)))
      } catch (error) {
        failure = { error }
        request.cancel()
      }
      rowBatch.bytes += cellBytes(cells)
      if (rowBatch.rows.length < batch.rows && rowBatch.bytes < batch.bytes()) return
      request.pause()
      batchReady.resolve()
    },
  })
  const finished = requestDone
    .catch((error: unknown) => {
      failure ??= { error }
    })
    .finally(() => {
      hasEnded = true
      batchReady.resolve()
    })
  try {
    let isFirst = true
    for (;;) {
      await batchReady.promise
      if (failure) throw failure.error
      const { rows, bytes } = rowBatch
      if (columns && (isFirst || rows.length > 0)) yield { columns, rows, bytes }
      if (hasEnded) return
      isFirst = false
      rowBatch = { rows: [], bytes: 0 }
      batchReady = Promise.withResolvers()
      request.resume()
    }
  } finally {
    if (!hasEnded) {
      request.resume()
      request.cancel()
      await finished
    }
  }
}

function toReadColumn(described: DriverCell['metadata']): ReadColumn {
  const type = resultType(described)
  return { name: described.colName, type, ...describeType(type) }
}

/** Returns the approximate size of the values as text, in bytes. */
function cellBytes(cells: readonly DriverCell[]): number {
  return cells.reduce((bytes, { value }) => {
    if (typeof value === 'string') return bytes + value.length
    return bytes + (Buffer.isBuffer(value) ? 2 * value.length : 8)
  }, 0)
}
