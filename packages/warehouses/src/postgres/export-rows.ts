import { escapeIdentifier } from 'pg'
import { resolveExportLimits } from '../query-limits.ts'
import type { ExportSource, RowExport, RowTextFormat } from '../query-runner.ts'
import { canBeFormula, hasDecimalPoint, rowTextHeader } from '../rows/csv-and-ndjson.ts'
import { type WarehouseColumn, WarehouseProblem } from '../warehouse.ts'
import { checkSchemaName, checkTableName, qualifyName } from './sql-identifiers.ts'
import { describeColumn } from './postgres-catalog.ts'
import type { WarehouseAccess } from './postgres-connections.ts'
import { CopyText } from './queries/copy-to-stdout.ts'
import { cursorPrefix, openQuerySession, type QueryClient } from './queries/query-session.ts'
import { executeSingleStatement, isInTransaction } from './queries/read-transaction.ts'
import { resultColumns } from './queries/result-columns.ts'
import { readShapeAsReader } from './table-shape.ts'

/**
 * Exports the rows of a table or query as text. See `QueryRunner.exportRows`. The server formats the rows (`COPY … TO
 * STDOUT`). This process adds the header and forwards the bytes. The caller must dispose the result to close the
 * connection.
 */
export async function exportRows(
  access: WarehouseAccess,
  source: ExportSource,
  format: RowTextFormat,
  signal: AbortSignal,
): Promise<RowExport> {
  await using resources = new AsyncDisposableStack()
  // The session needs a query for its limits. A table is exported without a user's query.
  const query: ExportedQuery = 'query' in source ? source.query : { text: '', limits: { seconds: source.seconds } }
  const { seconds } = resolveExportLimits(query.limits)
  const session = resources.use(openQuerySession(access, query, { seconds, prefix: cursorPrefix, signal }))
  const { columns, copy, firstChunk } = await session.run(async (client, setTimeLimit) => {
    const { from, columns } =
      'table' in source ? await readTableSource(client, source.table) : await readQuerySource(client, query)
    await client.query(`${setTimeLimit}; set local synchronize_seqscans = off`)
    const copy = new CopyText(copyStatement(from, columns, format), { endsWithCrLf: format !== 'NDJSON' })
    client.query(copy)
    // Errors before the first row are thrown here, so that the API can still respond with an error status.
    return { columns, copy, firstChunk: await copy.next() }
  })
  async function* bytes() {
    const header = rowTextHeader(columns, format)
    if (header !== '') yield Buffer.from(header)
    let chunk = firstChunk
    while (chunk) {
      yield chunk
      chunk = await session.run(() => copy.next())
    }
  }
  const openResources = resources.move()
  return {
    columns,
    bytes: bytes(),
    rowCount: () => copy.rows,
    [Symbol.asyncDispose]: () => openResources.disposeAsync(),
  }
}

type ExportedQuery = Extract<ExportSource, { query: unknown }>['query']

interface RowSource {
  /** The SQL after FROM: a table, or a query in parentheses, with its limit. Its columns are named `c1`, `c2`, …. */
  from: string
  columns: WarehouseColumn[]
}

/** Returns a subquery with all columns of the table. Throws TABLE_MISSING. */
async function readTableSource(
  client: QueryClient,
  { schema, name }: { schema: string; name: string },
): Promise<RowSource> {
  checkSchemaName(schema)
  checkTableName(name)
  const qualifiedName = qualifyName(schema, name)
  const shape = await readShapeAsReader(client, schema, name)
  if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${qualifiedName} does not exist. Load it first.`)
  const columns = shape.columns.map(describeColumn)
  const list = columns.map((column, index) => `${escapeIdentifier(column.name)} as c${index + 1}`).join(', ')
  return { from: `(select ${list} from ${qualifiedName}) as exported`, columns }
}

/**
 * Returns the user's query as a subquery, and its result columns. First declares a cursor for the text, which the
 * server accepts only if the text is a single query. Only then may the text be embedded in another statement.
 */
async function readQuerySource(client: QueryClient, { text, limits }: ExportedQuery): Promise<RowSource> {
  await executeSingleStatement(client, cursorPrefix + text)
  // Fetches no rows, only the columns. `page` is the cursor's name in `cursorPrefix`.
  const { fields } = await client.query('fetch forward 0 from page')
  await client.query('close page')
  // A function in the text may have ended the transaction.
  if (!isInTransaction(client))
    throw new WarehouseProblem(
      'SQL_NOT_ALLOWED',
      'Enter a single query that begins with SELECT, WITH, VALUES or TABLE.',
    )
  const columns = resultColumns(fields)
  const names = columns.map((_column, index) => `c${index + 1}`).join(', ')
  const limit = limits?.rows === undefined ? '' : ` limit ${resolveExportLimits(limits).rows}`
  return { from: `(\n${text}\n) as exported (${names})${limit}`, columns }
}

/** Returns the COPY statement that prints the rows in this format. */
function copyStatement(from: string, columns: readonly WarehouseColumn[], format: RowTextFormat): string {
  const list = columns.map((column, index) => columnExpression(column, `c${index + 1}`, format)).join(', ')
  if (format !== 'NDJSON') {
    const delimiter = format === 'EXCEL_CSV' ? ", delimiter ';'" : ''
    return `copy (select ${list} from ${from}) to stdout (format csv${delimiter})`
  }
  // JSON text never contains the control characters 1 and 2. With them as quote and delimiter, CSV adds no quotes. Two
  // `replace` calls take a fifth of the time of one `translate`.
  const rowQuery = `select ${list} from ${from}`
  const jsonText = `replace(replace(row_to_json(exported_row)::text, e'\\n', ' '), e'\\r', ' ')`
  return `copy (select ${jsonText} from (${rowQuery}) as exported_row) to stdout
    (format csv, quote e'\\x01', delimiter e'\\x02')`
}

const datesAndTimes = new Set(['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'])

/**
 * Returns the SQL expression that prints a column in this format. `column` is its name in the subquery, such as `c1`.
 */
function columnExpression({ name, dataType }: WarehouseColumn, column: string, format: RowTextFormat): string {
  if (format === 'NDJSON') {
    const value = datesAndTimes.has(dataType) ? `${column}::text` : column
    return `${value} as ${escapeIdentifier(name)}`
  }
  // The cast to text gives `true` instead of `t`.
  if (dataType === 'BOOLEAN') return `${column}::text`
  if (format === 'CSV') return column
  // The formats below are for Excel.
  if (hasDecimalPoint(dataType)) return `replace(${column}::text, '.', ',')`
  if (!canBeFormula(dataType)) return column
  // Excel would run a text that begins with one of these characters as a formula, so it gets a leading apostrophe.
  return `case when ${column}::text ~ e'^[-=+@\\t\\r]' then '''' || ${column}::text else ${column}::text end`
}
