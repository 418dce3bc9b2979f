import { type Delimiter, defaultLimits, type Limits } from '@sluice/delimited'
import { identifiers } from '../../../../identifiers.ts'
import type { Feed, FeedColumn, Report, Source } from '../../source.ts'
import type { Message } from './protocol.ts'
import { ThreadLink } from './thread-link.ts'

export interface CsvConfig {
  /** Where the file is on this machine. */
  path: string
  /** What people call it; messages name it, never the path. */
  fileName: string
  /** Detected where it is not given. */
  delimiter?: Delimiter
  /** Whether the first row holds the labels; true where not given. Without it columns are called `column_1` and so on. */
  headerRow?: boolean
}

const longestColumnList = 1000

/**
 * A delimited text file as one feed. It is read twice: the first pass finds types that hold for every row, the second turns the rows into
 * COPY text. A thread does both, so the event loop stays free, and memory stays the same whatever the size of the file.
 * A chunk ends with a row and belongs to whoever took it. The chunks have to be read before the next feed is asked for.
 * How values, blank lines, broken quotes and encodings are understood: the README.md of packages/delimited.
 */
export const csvSource: Source<CsvConfig> = {
  read: (config, report, signal) => readCsv(config, report, signal, defaultLimits),
}

/** `csvSource.read` within other limits. */
export async function* readCsv(
  { path, fileName, delimiter, headerRow = true }: CsvConfig,
  report: Report,
  signal: AbortSignal,
  limits: Limits,
): AsyncGenerator<Feed, void, void> {
  signal.throwIfAborted()
  const dialect = { headerRow, ...(delimiter && { delimiter }) }
  await using thread = new ThreadLink({ path, fileName, dialect, limits }, signal)
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'progress') report.progress(message.totals)
    if (message.kind !== 'inspected') continue
    const names = identifiers(message.inspection.columns.map(({ label }) => label))
    const columns = message.inspection.columns.map((column, index) => ({ name: names[index]!, ...column }))
    report.log('INFO', 'LOW', whatWasGuessed(message, columns, fileName, headerRow))
    yield { table: '', columns, content: { format: 'copy-text', chunks: copyText(thread, report) } }
    return
  }
}

async function* copyText(thread: ThreadLink, report: Report): AsyncGenerator<Uint8Array, void, void> {
  try {
    thread.send('ENCODE')
    for (;;) {
      const message = await thread.receive()
      if (message.kind === 'progress') report.progress(message.totals)
      if (message.kind === 'done') return
      if (message.kind !== 'batch') continue
      for (const row of message.rejected) report.reject(row)
      if (message.copyText.length > 0) yield message.copyText
      thread.send('MORE')
    }
  } finally {
    await thread[Symbol.asyncDispose]()
  }
}

function whatWasGuessed(
  { inspection, encoding }: Extract<Message, { kind: 'inspected' }>,
  columns: readonly FeedColumn[],
  fileName: string,
  headerRow: boolean,
): string {
  const { delimiter } = inspection
  const list = columns.map(describeColumn).join(', ')
  const shown = list.length > longestColumnList ? `${list.slice(0, longestColumnList)}…` : list
  const header = headerRow ? 'a header row' : 'no header row'
  return `Read ${fileName} as ${encoding}, delimiter ${delimiter}, ${header}, ${columns.length} columns: ${shown}`
}

function describeColumn({ name, dataType, precision, scale }: FeedColumn): string {
  return dataType === 'DECIMAL' ? `${name} DECIMAL(${precision},${scale})` : `${name} ${dataType}`
}
