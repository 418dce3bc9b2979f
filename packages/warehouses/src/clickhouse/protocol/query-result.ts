import { PassThrough, type Readable } from 'node:stream'
import type { RowCell, QueryRows, WarehouseColumn } from '../../warehouse.ts'
import { parseJsonCell } from '../../rows/json-cell.ts'
import { uniqueNames } from '../../sql-text/check-identifier.ts'
import { parseServerError } from './http-client.ts'
import { anyDecimal, describeType, withoutWrappers } from '../column-types.ts'

/**
 * The format of result rows: a line of column names, a line of types, then one line of JSON per row. It does not round
 * numbers.
 */
export const resultFormat = 'JSONCompactEachRowWithNamesAndTypes'
export const exactNumberSettings = {
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  output_format_json_quote_denormals: 1,
  output_format_decimal_trailing_zeros: 1,
  output_format_json_escape_forward_slashes: 0,
  date_time_output_format: 'simple',
  session_timezone: 'UTC',
  // A line that is not a row then contains the error that ended the result.
  http_write_exception_in_output_format: 0,
  max_query_size: 16 * 1024 * 1024,
}

/**
 * Reads a result until its end or a limit and returns its rows. `more` says whether rows remain, which are not read.
 * `truncated` says whether `limits.bytes` ended the read before `limits.rows`.
 */
export async function takeRows(
  response: Readable,
  limits: { rows: number; bytes: number },
  knownColumns?: readonly WarehouseColumn[],
): Promise<QueryRows & { more: boolean }> {
  await using result = await openResult(response, knownColumns)
  const { columns } = result
  const rows: RowCell[][] = []
  let bytes = 0
  for await (const line of result.lines) {
    if (rows.length === limits.rows) return { columns, rows, truncated: false, more: true }
    bytes += line.length
    if (bytes > limits.bytes) return { columns, rows, truncated: true, more: true }
    rows.push(result.parseRow(line))
  }
  return { columns, rows, truncated: false, more: false }
}

/** A result with unread rows. Disposing it ends the read. */
export interface OpenResult extends AsyncDisposable {
  columns: WarehouseColumn[]
  /** One line of JSON per row. */
  lines: AsyncIterable<string>
  parseRow(line: string): RowCell[]
}

/**
 * Reads the column names and types of a result. `knownColumns` overrides the reported types, if the caller knows them
 * more exactly.
 */
export async function openResult(response: Readable, knownColumns?: readonly WarehouseColumn[]): Promise<OpenResult> {
  const lines = readRowLines(response)
  const nameLine = await lines.next()
  const typeLine = await lines.next()
  const names = nameLine.done ? [] : (JSON.parse(nameLine.value) as string[])
  const typeNames = typeLine.done ? [] : (JSON.parse(typeLine.value) as string[])
  const columns = knownColumns ? [...knownColumns] : resultColumns(names, typeNames)
  return {
    columns: typeLine.done ? [] : columns,
    lines,
    parseRow: (line) =>
      (JSON.parse(line) as unknown[]).map((cell, index) => toCell(cell, columns[index]!, typeNames[index]!)),
    [Symbol.asyncDispose]: async () => void (await lines.return(undefined)),
  }
}

/**
 * Yields the result rows as lines. The first line that is not a row, together with all later lines, is a server error,
 * which this function throws.
 */
async function* readRowLines(response: Readable): AsyncGenerator<string> {
  let message = ''
  try {
    for await (const line of linesOf(response)) {
      const isEmpty = line === ''
      const isRow = line.startsWith('[')
      const hasErrorBegun = message !== '' || (!isEmpty && !isRow)
      if (hasErrorBegun) message += `${line}\n`
      else if (isRow) yield line
      if (message.length > maxErrorLength) break
    }
  } catch (error) {
    // The connection error follows the server's error message. The message says more, so it is thrown instead.
    if (message === '') throw error
  }
  if (message !== '') throw parseServerError(message)
}

const maxErrorLength = 64 * 1024

/**
 * Yields the chunks of a response. A failing server sends its error message and closes the connection at the same time.
 * So this function yields all received chunks before it throws the connection error.
 */
async function* chunksOf(response: Readable): AsyncGenerator<Buffer> {
  const chunks = new PassThrough({ highWaterMark: 1024 * 1024 })
  let failure: Error | undefined
  response.on('data', (chunk: Buffer) => {
    if (!chunks.write(chunk)) response.pause()
  })
  chunks.on('drain', () => response.resume())
  response.once('end', () => chunks.end())
  response.once('error', (error) => {
    failure = error
    chunks.end()
  })
  try {
    yield* chunks
  } finally {
    response.destroy()
  }
  if (failure) throw failure
}

const newline = '\n'.charCodeAt(0)
const maxLineBytes = 64 * 1024 * 1024

/**
 * Yields the lines of a response. If a line is longer than `maxLineBytes`, yields its start and ends, so that one huge
 * row cannot exhaust memory.
 */
async function* linesOf(response: Readable): AsyncGenerator<string> {
  /** The chunks of the line that is not complete yet, and their length in bytes. */
  let lineChunks: Buffer[] = []
  let lineBytes = 0
  for await (const chunk of chunksOf(response)) {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      lineChunks.push(chunk.subarray(from, end))
      yield Buffer.concat(lineChunks).toString()
      lineChunks = []
      lineBytes = 0
      from = end + 1
    }
    if (from < chunk.length) {
      lineChunks.push(chunk.subarray(from))
      lineBytes += chunk.length - from
    }
    if (lineBytes > maxLineBytes) break
  }
  if (lineBytes > 0) yield Buffer.concat(lineChunks).toString()
}

/** Returns the columns of a result with unique names. Their labels keep the original, perhaps repeated names. */
function resultColumns(labels: readonly string[], types: readonly string[]): WarehouseColumn[] {
  const names = uniqueNames(labels)
  return labels.map((label, index) => ({
    name: names[index]!,
    label,
    ...describeType(types[index]!),
    primaryKey: false,
  }))
}

const nonFiniteTexts: Record<string, string> = { nan: 'NaN', '-nan': 'NaN', inf: 'Infinity', '-inf': '-Infinity' }

/**
 * Formats a value the same way as in the other warehouses: no trailing zeros in fractional seconds, timestamps with a
 * time zone, NaN as text.
 */
function toCell(cell: unknown, { dataType }: Pick<WarehouseColumn, 'dataType'>, type: string): RowCell {
  if (cell === null || typeof cell === 'boolean' || typeof cell === 'number') return cell
  if (typeof cell === 'object') return dataType === 'JSONB' ? cell : JSON.stringify(cell)
  const text = cell as string
  switch (dataType) {
    case 'JSONB':
      return parseJsonCell(text)
    case 'FLOAT':
    case 'DOUBLE':
      return nonFiniteTexts[text] ?? text
    case 'DECIMAL': {
      // The server fills decimals of this type with zeros up to the type's scale, which the user did not choose.
      const hasDefaultScale = withoutWrappers(type) === anyDecimal
      return hasDefaultScale ? removeTrailingZeros(text) : text
    }
    case 'TIMESTAMP':
      return removeTrailingZeros(text)
    case 'TIMESTAMPTZ':
      return `${removeTrailingZeros(text)}+00`
    default:
      return text
  }
}

/** Removes trailing zeros after a decimal point, but not those of integers. */
const removeTrailingZeros = (text: string): string => text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
