import { type ReadReporter, type RowStream, TypesWidened } from '@sluice/row-stream'
import { parquetSource } from '../parquet/parquet-source.ts'
import { readTuples } from '../cells/read-tuples.ts'
import { startReaderThread } from '../start-reader-thread.ts'
import { openUpload, type UploadToOpen } from '../upload/open-upload.ts'
import type { FileOptions } from '../upload/read-upload.ts'
import { isSameValue, type KeyRowsJob, maxKeyRows, type RowKey, type RowPosition } from './find-key-rows.ts'

/**
 * Reads a file again to find the rows with a key. Returns their positions: `lines 3 and 6 of cases.csv`, or `rows …`
 * for a file without lines. Returns undefined if fewer than two rows are found.
 */
export async function describeKeyRows(
  upload: Omit<UploadToOpen, 'options'>,
  options: FileOptions,
  key: RowKey & { rows: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  using opened = await openUpload({ ...upload, options }, signal)
  const { fd, name } = opened.file
  if (opened.format === 'PARQUET') {
    const read = () => parquetSource.read({ path: fd, fileName: name }, silentReporter, signal)
    const rowNumbers = await findRowNumbers(read, key)
    return formatPositions('row', rowNumbers, key.rows, name)
  }
  const positions = await findInThread({ file: { fd, name }, options: { ...options, ...opened.dialect }, key }, signal)
  // Text that was converted from a workbook or JSON has other lines than the file.
  const isOriginalText = opened.dialect === undefined
  const numbers = positions.map(({ line, row }) => (isOriginalText ? line : row))
  return formatPositions(isOriginalText ? 'line' : 'row', numbers, key.rows, name)
}

async function findInThread(job: KeyRowsJob, signal: AbortSignal): Promise<RowPosition[]> {
  await using thread = startReaderThread<RowPosition[]>('key-rows', job, { reading: job.file.name }, signal)
  const message = await thread.receive()
  if (message.kind !== 'done') throw new Error(`The thread sent ${message.kind} instead of positions`)
  return message.result
}

/**
 * Returns the numbers of the first rows with the key, from 1. Returns an empty list if a column of the key is missing.
 * If the types are too narrow, reads the rows again with wider types.
 */
async function findRowNumbers(read: () => AsyncIterable<RowStream>, { keys, values }: RowKey): Promise<number[]> {
  for await (const { columns, content } of read()) {
    // Returns in the first iteration, because a file is one row stream.
    for (let types = columns; ; ) {
      const indexes = keys.map((key) => types.findIndex(({ name }) => name === key))
      if (indexes.includes(-1)) return []
      const numbers: number[] = []
      let row = 0
      try {
        for await (const chunk of content.rows(types)) {
          for (const cells of readTuples(chunk.bytes, types, Infinity, Infinity).rows) {
            row += 1
            const hasKey = indexes.every((index, position) => isSameValue(cells[index]!, values[position]!))
            if (hasKey) numbers.push(row)
          }
          chunk.release?.()
          if (numbers.length >= maxKeyRows) break
        }
        return numbers.slice(0, maxKeyRows)
      } catch (error) {
        if (!(error instanceof TypesWidened)) throw error
        types = error.columns
      }
    }
  }
  return []
}

const silentReporter: ReadReporter = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

/**
 * Formats numbers of lines or rows: `lines 2, 5 and 9 of cases.csv`. `total` is the number of rows with the key.
 * Returns undefined for fewer than two numbers.
 */
function formatPositions(noun: string, numbers: readonly number[], total: number, name: string): string | undefined {
  if (numbers.length < 2) return undefined
  const unlistedRows = total - numbers.length
  const items = numbers.map(String)
  if (unlistedRows > 0) items.push(`${unlistedRows.toLocaleString('en')} more`)
  return `${noun}s ${items.slice(0, -1).join(', ')} and ${items.at(-1)} of ${name}`
}
