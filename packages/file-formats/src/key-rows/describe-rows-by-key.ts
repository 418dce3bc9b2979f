import { type Column, type RowStream, silentReporter, TypesWidened } from '@sluice/row-stream'
import { parquetSource } from '../parquet/parquet-source.ts'
import { readTuples } from '../cells/read-tuples.ts'
import { startReaderThread } from '../start-reader-thread.ts'
import { openUpload, type UploadToOpen } from '../upload/open-upload.ts'
import type { FileOptions } from '../upload/read-upload.ts'
import { findKeyIndexes, hasKey, type KeyRowsJob, type RowKey, type RowPosition } from './find-rows-by-key.ts'

/** At most this many positions are named. */
const maxNamedRows = 5

/**
 * Reads a file again to find the rows with a key. Returns their positions as `lines 3 and 6 of cases.csv`, or as
 * `rows …` for a file without lines. `key.rows` is the number of these rows, if it is known. Returns undefined if it
 * does not find them. The rows with `key.values` are duplicates, so it has not found them if it finds only one.
 */
export async function describeKeyRows(
  upload: Omit<UploadToOpen, 'options'>,
  options: FileOptions,
  key: RowKey & { rows?: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  using opened = await openUpload({ ...upload, options }, signal)
  const { fd, name } = opened.file
  // If the number of rows is unknown, one more position shows whether more than the named ones exist.
  const maxRows = key.rows === undefined ? maxNamedRows + 1 : maxNamedRows
  if (opened.format === 'PARQUET') {
    const read = () => parquetSource.read({ path: fd, fileName: name }, silentReporter, signal)
    const rowNumbers = await findRowNumbers(read, key, maxRows)
    return formatPositions('row', rowNumbers, key, name)
  }
  const job = { file: { fd, name }, options: { ...options, ...opened.dialect }, key, maxRows }
  const positions = await findInThread(job, signal)
  // Text that was converted from a workbook or JSON has other lines than the file.
  const isOriginalText = opened.dialect === undefined
  const numbers = positions.map(({ line, row }) => (isOriginalText ? line : row))
  return formatPositions(isOriginalText ? 'line' : 'row', numbers, key, name)
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
async function findRowNumbers(read: () => AsyncIterable<RowStream>, key: RowKey, maxRows: number): Promise<number[]> {
  for await (const rowStream of read()) {
    let types = rowStream.columns
    for (;;) {
      try {
        // Returns in the first iteration, because a file is one row stream.
        return await findRowNumbersWithTypes(rowStream, types, key, maxRows)
      } catch (error) {
        if (!(error instanceof TypesWidened)) throw error
        types = error.columns
      }
    }
  }
  return []
}

/** Does the same as `findRowNumbers`. Throws TypesWidened if the types are too narrow. */
async function findRowNumbersWithTypes(
  { content }: RowStream,
  types: Column[],
  key: RowKey,
  maxRows: number,
): Promise<number[]> {
  const keyIndexes = findKeyIndexes(types, key)
  if (keyIndexes.includes(-1)) return []
  const numbers: number[] = []
  let row = 0
  for await (const chunk of content.rows(types)) {
    for (const cells of readTuples(chunk.bytes, types, Infinity, Infinity).rows) {
      row++
      const keyCells = keyIndexes.map((index) => cells[index])
      if (hasKey(keyCells, [], key)) numbers.push(row)
    }
    chunk.release?.()
    if (numbers.length >= maxRows) break
  }
  return numbers.slice(0, maxRows)
}

/**
 * Formats numbers of lines or rows: `line 2 of cases.csv`, `lines 2, 5 and 9 of cases.csv`. `rows` is the number of all
 * rows with the key, if it is known. Returns undefined if too few numbers were found: none, or only one for `values`,
 * which are duplicate.
 */
function formatPositions(
  noun: string,
  numbers: readonly number[],
  { values, rows }: RowKey & { rows?: number },
  name: string,
): string | undefined {
  const areDuplicates = values !== undefined
  const minNumbers = areDuplicates ? 2 : 1
  if (numbers.length < minNumbers) return undefined
  const namedNumbers = numbers.slice(0, maxNamedRows)
  const unnamedRows = (rows ?? numbers.length) - namedNumbers.length
  const items = namedNumbers.map(String)
  if (unnamedRows > 0) items.push(rows === undefined ? 'more' : `${unnamedRows.toLocaleString('en')} more`)
  if (items.length === 1) return `${noun} ${items[0]} of ${name}`
  return `${noun}s ${items.slice(0, -1).join(', ')} and ${items.at(-1)} of ${name}`
}
