import type { Colors } from 'picocolors/types.js'
import type { LoadedCsv } from './load-csv.ts'
import { byteRate, bytesText, rowRate, rowsText, secondsText } from './format-units.ts'
import { toPrintable, textTable } from './text-table.ts'

export interface ReportOptions {
  colors: Colors
  /** Columns of the terminal. */
  width: number
  identityUrl: string
  pipelineUrl: string
  username: string
}

const numeric = new Set(['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE'])

/** Describes the result of a load: first rows, column types, times, and where to continue. */
export function formatReport(loaded: LoadedCsv, options: ReportOptions): string {
  const sections = [
    outcome(loaded, options),
    ...(loaded.data ? [firstRows(loaded, options), columnTypes(loaded, options)] : []),
    ...(loaded.rejected.length > 0 ? [rejectedRows(loaded, options)] : []),
    timing(loaded, options),
    ...(loaded.table ? [next(loaded, options)] : []),
  ]
  return sections.map((lines) => lines.map((line) => `  ${line}`.trimEnd()).join('\n')).join('\n\n')
}

function outcome({ run, table, pipeline }: LoadedCsv, { colors }: ReportOptions): string[] {
  const message = run.message ? toPrintable(run.message) : ''
  if (run.status === 'OK' || run.status === 'WARNING') {
    const sign = run.status === 'OK' ? colors.green('●') : colors.yellow('▲')
    const rows = rowsText(run.rowsWritten ?? table?.rowCount ?? 0)
    const place = colors.bold(table?.qualifiedTableName ?? '')
    // The report has the first sentence of the message already.
    const more = message.replace(/^Loaded [^.]*\.\S* ?/, '')
    return [`${sign} ${rows} loaded into ${place}`, ...(more ? [`  ${colors.yellow(more)}`] : [])]
  }
  const name = toPrintable(pipeline.name)
  return [`${colors.red('✗')} The run of "${name}" ended ${run.status}: ${message || 'without a message.'}`]
}

function firstRows({ data }: LoadedCsv, { colors, width }: ReportOptions): string[] {
  const { columns, rows } = data!
  const { lines, columnsShown } = textTable([columns.map(({ name }) => name), ...rows], {
    width: width - 2,
    right: columns.map(({ dataType }) => numeric.has(dataType)),
  })
  const more = columns.length - columnsShown
  return [
    colors.dim(`First rows${more > 0 ? ` (and ${more} more column${more === 1 ? '' : 's'})` : ''}`),
    ...lines.map((line, index) => (index === 0 ? colors.bold(line) : line)),
  ]
}

const maxColumns = 40

function columnTypes({ data }: LoadedCsv, { colors, width }: ReportOptions): string[] {
  const { columns } = data!
  const shown = columns.slice(0, maxColumns)
  const { lines } = textTable(
    shown.map(({ name, dataType, label }) => [name, dataType, label === name ? '' : label]),
    { width: width - 2, right: [] },
  )
  const rest = columns.length - shown.length
  return [colors.dim('Column types'), ...lines, ...(rest > 0 ? [colors.dim(`… and ${rest} more`)] : [])]
}

/** Shows reasons in full, because they say what to do, and as much of the rows as fits the line. */
function rejectedRows({ rejected, run, pipeline }: LoadedCsv, { colors, width, pipelineUrl }: ReportOptions): string[] {
  const lines = rejected.map(({ line, column, reason, raw }) => {
    const description = `line ${line}: ${column ? `${toPrintable(column)}: ` : ''}${toPrintable(reason)}`
    const remainingWidth = Math.max(20, width - 6 - description.length)
    const row = toPrintable(raw)
    return `${description}  ${colors.dim(row.length > remainingWidth ? `${row.slice(0, remainingWidth - 1)}…` : row)}`
  })
  const all = `${pipelineUrl}/api/v1/data-pipelines/${pipeline.id}/runs/${run.taskId}/rejected-rows`
  return [
    colors.yellow(`${rowsText(run.progress.rowsRejected)} did not fit`),
    ...lines,
    colors.dim(`All of them: ${all}`),
  ]
}

function timing({ file, run, timing: { upload, queued, load } }: LoadedCsv, { colors }: ReportOptions): string[] {
  const rows = run.rowsWritten ?? run.progress.rowsRead
  return [
    colors.dim('Timing'),
    `upload  ${secondsText(upload).padStart(8)}  ${bytesText(file.size)}, ${byteRate(file.size, upload)}`,
    `queued  ${secondsText(queued).padStart(8)}`,
    `load    ${secondsText(load).padStart(8)}  ${rowsText(rows)}, ${rowRate(rows, load)}, ${byteRate(file.size, load)}`,
  ]
}

function next({ pipeline }: LoadedCsv, { colors, identityUrl, pipelineUrl, username }: ReportOptions): string[] {
  const login = JSON.stringify({ username, password: '…' }).replaceAll("'", String.raw`'\''`)
  return [
    colors.dim('Next'),
    `All requests of the API: ${colors.cyan(`${pipelineUrl}/docs`)}`,
    'The same rows with curl (replace … by the password):',
    `  TOKEN=$(curl -s ${identityUrl}/api/v1/auth/login -H 'content-type: application/json' \\`,
    `    -d '${login}' | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s -H "authorization: Bearer $TOKEN" '${pipelineUrl}/api/v1/data-pipelines/${pipeline.id}/data?pageSize=3'`,
  ]
}
