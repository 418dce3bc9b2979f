import {
  formatCount,
  describeColumns,
  type RowStream,
  type ReadReporter,
  type DataSource,
  SourceProblem,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import { type ParquetLimits, defaultLimits } from './limits.ts'
import type { ParquetResult } from './encode-rows.ts'
import type { HexColumn, InspectedFile, ParquetThreadJob } from './parquet-thread-job.ts'
import { type ReaderThread, receiveRows, startReaderThread } from '../start-reader-thread.ts'

interface ParquetConfig {
  /** A path on this machine, or a descriptor that the caller closes after reading. */
  path: string | number
  /** The file's name in messages, which must not show its path. */
  fileName: string
}

/**
 * Reads a Parquet file as one row stream. The schema contains exact types, so the file is read once, one page of each
 * column at a time. Memory does not depend on the sizes of the file and its row groups. A thread reads the file, so
 * that the event loop stays responsive. README.md in this directory describes the mapping of Parquet's types to
 * columns.
 */
export const parquetSource: DataSource<ParquetConfig> = {
  read: (config, report, signal) => readParquet(config, report, signal, defaultLimits),
}

/** Does the same as `parquetSource.read`, with the given limits. */
export async function* readParquet(
  { path, fileName }: ParquetConfig,
  report: ReadReporter,
  signal: AbortSignal,
  limits: ParquetLimits,
): AsyncGenerator<RowStream, void, void> {
  signal.throwIfAborted()
  await using thread = startParquetThread({ path, fileName, limits }, signal)
  const firstMessage = await thread.receive()
  if (firstMessage.kind !== 'opened')
    throw new Error(`The thread sent ${firstMessage.kind} before it had opened ${fileName}`)
  const { opened: openedFile } = firstMessage
  report.log('INFO', 'LOW', describeFile(openedFile, fileName))
  const { columns, size } = openedFile
  let hasStarted = false
  async function* rows(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (hasStarted) await report.startOver()
    hasStarted = true
    const outcome = yield* receiveRows(thread, types, report)
    if ('widened' in outcome) {
      const { label } = outcome.widened
      report.log(
        'INFO',
        'LOW',
        `Column "${label}" of ${fileName} has bytes that are not text. The file is read again with this column in hex.`,
      )
      throw new TypesWidened(columns)
    }
    for (const { label, valueCount } of outcome.result.truncatedColumns)
      report.log('WARN', 'MEDIUM', `${valueCount} times in column "${label}" of ${fileName} were cut to microseconds.`)
  }
  yield { table: '', columns, content: { format: 'copy-binary', rows, size } }
}

function describeFile({ columns, rows, rowGroups, codecs, writer }: InspectedFile, fileName: string): string {
  const groups = rowGroups === 1 ? 'one row group' : `${rowGroups} row groups`
  const compression = codecs.join(', ') || 'nothing'
  const origin = `Read ${fileName} as Parquet by ${writer.slice(0, 200)}`
  const columnCount = formatCount(columns.length, 'column')
  return `${origin}, ${rows} rows in ${groups}, ${compression}, ${columnCount}: ${describeColumns(columns)}`
}

type ParquetThread = ReaderThread<ParquetResult, InspectedFile, HexColumn>

/**
 * Starts a thread that reads a file. An idle timeout ends the thread, because a malicious file could keep a decoder
 * busy for years.
 */
function startParquetThread(job: ParquetThreadJob, signal: AbortSignal): ParquetThread {
  const { fileName, limits } = job
  const milliseconds = limits.idleTimeoutMs
  const stuckMessage = `${fileName} cannot be read: the reader made no progress for ${milliseconds / 1000} seconds. Write the file again.`
  const dense = `${fileName} needs more memory than a file may take. Write it with smaller row groups or fewer columns.`
  const options = {
    reading: fileName,
    tooDense: new SourceProblem('FILE_TOO_DENSE', dense),
    silence: { milliseconds, problem: new SourceProblem('FILE_DAMAGED', stuckMessage) },
  }
  return startReaderThread('parquet', job, options, signal)
}
