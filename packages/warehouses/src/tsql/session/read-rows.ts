import type { Connection } from 'tedious'
import { trimStatementEnd } from '../../sql-text/sql-tokens.ts'
import type { BatchLimits, ReadColumn, ReadRows } from '../../sql-warehouse/sql-dialect.ts'
import { type BoundValue, formatStatement, type SqlStatement, sql } from '../../sql-warehouse/sql-statement.ts'
import type { RowCell } from '../../warehouse.ts'
import { cellReader, losesDigits, resultType } from './cell-reader.ts'
import { assertSingleQuery } from '../statements/assert-single-query.ts'
import { embeddedColumnName, splitOrderedQuery } from '../statements/split-ordered-query.ts'
import { type RowBounds, type DriverCell, sendRequest } from './send-request.ts'
import { tsqlTokens } from '../statements/tokens.ts'
import { describeType } from '../column-types.ts'

interface ReadRequest {
  text: string
  values: readonly (string | null)[]
}

/**
 * See `SqlSession.read`. Sends the query unchanged, unless the driver would lose digits of a column. Then an outer
 * query reads that column as text. Fetches rows only as the caller reads them.
 */
export async function* readQueryRows(
  connection: Connection,
  request: ReadRequest,
  batch: BatchLimits,
  bounds: RowBounds,
): AsyncGenerator<ReadRows> {
  const text = trimStatementEnd(request.text)
  assertSingleQuery(text)
  const readLosslessly = (columns: readonly ReadColumn[]) =>
    streamBatches(connection, bindValues(readAsText(text, columns), request.values), batch, bounds, columns)
  // The list is empty if the server cannot describe the columns.
  const describedColumns = await describeColumns(connection, { ...request, text }, bounds)
  if (describedColumns.some(({ type }) => losesDigits(type))) {
    yield* readLosslessly(describedColumns)
    return
  }
  try {
    yield* withErrorPosition(text, streamBatches(connection, bindValues(text, request.values), batch, bounds))
  } catch (error) {
    if (!(error instanceof RoundedColumns)) throw error
    yield* readLosslessly(error.columns)
  }
}

/** Returns the result columns of a query. Runs the query only if the server cannot describe the columns in advance. */
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
  override readonly name = 'RoundedColumns'
  readonly columns: readonly ReadColumn[]

  constructor(columns: readonly ReadColumn[]) {
    super('Digits would be lost.')
    this.columns = columns
  }
}

/** Yields the rows. Adds the field `column` to an error of the server, if the error's column in `text` is known. */
async function* withErrorPosition(text: string, rows: AsyncGenerator<ReadRows>): AsyncGenerator<ReadRows> {
  try {
    yield* rows
  } catch (error) {
    const column = findErrorColumn(text, error as Error)
    // `explainQuery` reads the field.
    if (column !== undefined) Object.assign(error as Error, { column })
    throw error
  }
}

/**
 * Returns the column of an error, counted from 1. The server reports only the line and, in its message, the wrong word.
 * So this searches for the word in the line.
 */
function findErrorColumn(text: string, { message = '', lineNumber }: { message?: string; lineNumber?: number }) {
  const match = /near (?:the keyword )?'(?<syntaxWord>[^']+)'|column name '(?<columnName>[^']+)'/.exec(message)
  const word = match?.groups?.['syntaxWord'] ?? match?.groups?.['columnName']
  const line = lineNumber ? text.split('\n')[lineNumber - 1] : undefined
  if (!word || !line?.includes(word)) return undefined
  return line.indexOf(word) + 1
}

/**
 * Splits the text at its parameters `$1`, `$2`, … and binds their values. A value that looks like a number is bound as
 * a number. A parameter without a value stays in the text.
 */
function bindValues(text: string, values: readonly (string | null)[]): SqlStatement {
  const texts: string[] = []
  const bindings: (string | number | null)[] = []
  let textStart = 0
  for (const token of tsqlTokens(text)) {
    if (token.kind !== 'parameter') continue
    const value = values[Number(token.text.slice(1)) - 1]
    if (value === undefined) continue
    texts.push(text.slice(textStart, token.start))
    bindings.push(parseExactNumber(value))
    textStart = token.end
  }
  texts.push(text.slice(textStart))
  return { texts, values: bindings }
}

/** Returns a number if the text is a number that a double represents exactly. Otherwise returns the text. */
function parseExactNumber(value: string | null): string | number | null {
  if (value === null || !/^-?(0|[1-9]\d*)(\.\d+)?$/.test(value)) return value
  const number = Number(value)
  const isExact = String(number) === value && (Number.isSafeInteger(number) || !Number.isInteger(number))
  return isExact ? number : value
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
  const statement = bindValues(text, values)
  const query = formatStatement(statement, (number) => `@p${number}`)
  const declarations = statement.values.map((value, index) => `@p${index + 1} ${parameterTypeName(value)}`).join(', ')
  const columns: ReadColumn[] = []
  // The last argument 0 leaves out information about the source tables.
  const describeStatement = sql`exec sp_describe_first_result_set ${query}, ${declarations || null}, 0`
  const { completion } = sendRequest(connection, describeStatement, bounds, {
    row: (cells) => {
      const row = Object.fromEntries(cells.map(({ metadata, value }) => [metadata.colName, value]))
      if (row['is_hidden']) return
      const type = textOrDefault(row['system_type_name'], 'nvarchar(max)').replace(/^numeric/, 'decimal')
      columns.push({ name: textOrDefault(row['name'], ''), type, ...describeType(type) })
    },
  })
  await completion.catch(() => bounds.signal?.throwIfAborted())
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
  const { withClause, tableExpression, orderBy, optionClause } = splitOrderedQuery(text, columns)
  const columnList = columns.map(({ type }, index) => {
    const name = embeddedColumnName(index)
    if (!losesDigits(type)) return name
    // Style 2 prints all four decimals of money.
    const style = type.includes('money') ? ', 2' : ''
    return `convert(varchar(60), ${name}${style})`
  })
  const orderClause = orderBy === '' ? '' : ` order by ${orderBy}`
  return `${withClause}select ${columnList.join(', ')} from ${tableExpression}${orderClause} ${optionClause}`
}

/**
 * Runs the query and yields its rows in batches. Pauses the request while the caller processes a batch. `knownColumns`
 * are the result columns if the query reads some of them as text. Without `knownColumns`, throws `RoundedColumns` if
 * the driver would lose digits.
 */
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
      const isLast = hasEnded
      if (columns && (isFirst || rows.length > 0)) yield { columns, rows, bytes }
      if (isLast) return
      isFirst = false
      rowBatch = { rows: [], bytes: 0 }
      // The request may have failed while the caller processed the batch. Then nothing more arrives.
      if (hasEnded) continue
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

function toReadColumn(description: DriverCell['metadata']): ReadColumn {
  const type = resultType(description)
  return { name: description.colName, type, ...describeType(type) }
}

/** Returns the approximate size of the values as text, in bytes. */
function cellBytes(cells: readonly DriverCell[]): number {
  return cells.reduce((bytes, { value }) => {
    if (typeof value === 'string') return bytes + value.length
    return bytes + (Buffer.isBuffer(value) ? 2 * value.length : 8)
  }, 0)
}
