import {
  formatCount,
  describeColumns,
  type ColumnProfile,
  type RowStream,
  type FeedColumn,
  type LoadReport,
  type DataSource,
  SourceProblem,
  type StoredType,
  type TupleChunk,
  TypesWidened,
  ReadingThread,
  suspendSpareThreads,
} from '@sluice/row-stream'
import { type ParquetLimits, defaultLimits } from './limits.ts'
import type { MeasuredColumn } from './measure.ts'
import type { ParquetCommand, InspectedFile, ParquetJob, ParquetMessage } from './protocol.ts'

export interface ParquetConfig {
  /** A path on this machine, or a descriptor, which the caller closes after reading. */
  path: string | number
  /** The display name; messages show it instead of the path. */
  fileName: string
}

/**
 * A Parquet file as one feed. The schema gives exact types, so the file is read once, a page of each column at a time;
 * memory does not depend on the sizes of the file and its row groups. A thread reads the file, so the event loop stays
 * free. README.md in this directory describes the mapping of Parquet's types to columns.
 */
export const parquetSource: DataSource<ParquetConfig> = {
  read: (config, report, signal) => readParquet(config, report, signal, defaultLimits),
}

/** `parquetSource.read` with other limits. */
export async function* readParquet(
  { path, fileName }: ParquetConfig,
  report: LoadReport,
  signal: AbortSignal,
  limits: ParquetLimits,
): AsyncGenerator<RowStream, void, void> {
  signal.throwIfAborted()
  await using thread = startParquetThread({ path, fileName, limits }, signal)
  const inspected = await thread.receive()
  if (inspected.kind !== 'inspected') throw new Error(`${inspected.kind} came before the schema`)
  report.log('INFO', 'LOW', describeFile(inspected, fileName))
  const { columns, size } = inspected
  let measured: MeasuredColumn[] = []
  const profile = (): ColumnProfile[] => measured.map((each, index) => ({ column: columns[index]!.name, ...each }))
  const rows = (types: readonly StoredType[]) =>
    tuples(thread, columns, types, fileName, report, (all) => {
      measured = all
    })
  yield { table: '', columns, content: { format: 'copy-binary', rows, size, profile } }
}

async function* tuples(
  thread: ReturnType<typeof startParquetThread>,
  columns: FeedColumn[],
  types: readonly StoredType[],
  fileName: string,
  report: LoadReport,
  keep: (measured: MeasuredColumn[]) => void,
): AsyncGenerator<TupleChunk, void, void> {
  thread.send({ kind: 'encode', types })
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'progress') report.progress(message.totals)
    if (message.kind === 'rejected') for (const row of message.rows) report.reject(row)
    if (message.kind === 'widened') {
      report.log(
        'INFO',
        'LOW',
        `Column "${message.label}" of ${fileName} holds bytes that are no text; it is read again, in hex.`,
      )
      await report.startOver()
      throw new TypesWidened(columns)
    }
    if (message.kind === 'done') {
      keep(message.measured)
      for (const { label, values } of message.cuts) {
        report.log('WARN', 'MEDIUM', `${values} times in column "${label}" of ${fileName} were cut to microseconds.`)
      }
      return
    }
    if (message.kind !== 'chunk') continue
    const { memory, length } = message
    yield { bytes: new Uint8Array(memory, 0, length), release: () => thread.send({ kind: 'memory', memory }, [memory]) }
    thread.send({ kind: 'more' })
  }
}

function describeFile({ columns, rows, rowGroups, codecs, writer }: InspectedFile, fileName: string): string {
  const groups = rowGroups === 1 ? 'one row group' : `${rowGroups} row groups`
  const compression = codecs.join(', ') || 'nothing'
  return `Read ${fileName} as Parquet by ${writer.slice(0, 200)}, ${rows} rows in ${groups}, ${compression}, ${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`
}

/** Heap limit of one thread; pages and chunks are outside of the heap, and `limits` bounds them. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 2 }

/** Starts reading a file. A timeout ends files crafted to keep a decoder busy for years. */
function startParquetThread(job: ParquetJob, signal: AbortSignal): ReadingThread<ParquetMessage, ParquetCommand> {
  const { fileName, limits } = job
  const milliseconds = limits.silence
  const stuck = `${fileName} could not be read any further: nothing came of it for ${milliseconds / 1000} seconds. Have it written anew.`
  const dense = `${fileName} needs more memory than a file may take. Write it with smaller row groups or fewer columns.`
  const reader = {
    program: new URL('./parquet-thread.ts', import.meta.url),
    name: 'parquet',
    job,
    reading: fileName,
    resourceLimits,
    tooDense: new SourceProblem('FILE_TOO_DENSE', dense),
    silence: { milliseconds, problem: new SourceProblem('FILE_DAMAGED', stuck) },
  }
  const thread = new ReadingThread<ParquetMessage, ParquetCommand>(reader, signal)
  suspendSpareThreads(thread.ended)
  return thread
}
