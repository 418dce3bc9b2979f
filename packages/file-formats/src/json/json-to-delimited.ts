import { SourceProblem } from '@sluice/row-stream'
import { type ByteSource, truncateAfter, catchTruncatedRead } from '../spool/byte-source.ts'
import type { RowOutput } from '../spool/rejects-file.ts'
import type { ConversionJob } from '../format/converted-upload.ts'
import type { SpoolWriter } from '../spool/spool-writer.ts'
import type { WrittenDialect } from '../format/upload-options.ts'
import { ByteWindow, formatBytes } from './byte-window.ts'
import { JsonColumns } from './json-columns.ts'
import { JsonCursor } from './json-cursor.ts'
import { JsonPass } from './json-record.ts'
import { type JsonShape, jsonShape } from './json-shape.ts'
import { walkArray, walkLines, walkSequence } from './walk-values.ts'

/** The number of bytes at the start from which the first header is made. */
const guessedFrom = 1024 * 1024

type JsonFacts = Pick<ConversionJob, 'name' | 'limits' | 'options' | 'firstBytes'>

/**
 * Writes the objects of a UTF-8 JSON text as lines of delimited text. The keys at the start determine the header. If a
 * later object has another key, reads only the keys of the rest, and then writes everything again. Throws SourceProblem
 * PREVIEW_TOO_LARGE, EMPTY_SOURCE, ROWS_KEY_NOT_SET or EMPTY_FILE if the text has no rows or no columns.
 */
export async function writeJson(
  source: ByteSource,
  output: RowOutput,
  about: JsonFacts,
): Promise<{ kind: string; dialect: WrittenDialect; complete: boolean; written: number }> {
  const shape = await shapeOf(source, about)
  const columns = new JsonColumns(about.name)
  await walkJsonRows(truncateAfter(source, guessedFrom), shape, about, new JsonPass(columns)).catch(catchTruncatedRead)
  let isComplete = true
  let writtenRowCount = 0
  let recordCount = 0
  for (;;) {
    output.writer.startOver()
    output.rejects.startOver()
    writeHeader(columns, output.writer)
    const pass = new JsonPass(columns, output)
    isComplete = (await walkJsonRows(source, shape, about, pass).catch(catchTruncatedRead)) !== 'CUT'
    pass.flush()
    writtenRowCount = pass.written
    recordCount = pass.rows
    if (!pass.late) break
  }
  // An incomplete record may lack keys, so the columns cannot be derived from it.
  if (recordCount === 0 && !isComplete)
    throw new SourceProblem(
      'PREVIEW_TOO_LARGE',
      `A preview reads only the first ${formatBytes(about.firstBytes ?? 0)} of ${about.name}, and this part has no complete record. A run reads records of up to ${formatBytes(about.limits.recordBytes)}.`,
    )
  const isRequestedList = shape.kind === 'ARRAY' && (shape.key === undefined || shape.key === about.options.rowsUnder)
  if (columns.labels.length === 0 && recordCount === 0 && isRequestedList)
    throw new SourceProblem(
      'EMPTY_SOURCE',
      `${about.name} is an empty list, and no earlier load defines its columns. Run again once the list has records.`,
    )
  if (columns.labels.length === 0 && recordCount === 0 && shape.kind === 'ARRAY')
    throw new SourceProblem(
      'ROWS_KEY_NOT_SET',
      `The only list in ${about.name} is empty and has the key ${shape.key}. If this list is for the records, set rowsUnder to its key.`,
    )
  if (columns.labels.length === 0) {
    throw new SourceProblem('EMPTY_FILE', `${about.name} has no object with a key, so it has no rows.`)
  }
  return { kind: describeShape(shape), dialect: dialectOf(columns), complete: isComplete, written: writtenRowCount }
}

async function shapeOf(source: ByteSource, { name, limits, options }: JsonFacts): Promise<JsonShape> {
  await using window = new ByteWindow(source)
  return await jsonShape({ window, name, recordBytes: limits.recordBytes, rowsUnder: options.rowsUnder })
}

async function walkJsonRows(
  source: ByteSource,
  shape: JsonShape,
  { name, limits, options }: JsonFacts,
  pass: JsonPass,
): Promise<void> {
  await using window = new ByteWindow(source, { countsLines: shape.kind !== 'LINES' })
  const { recordBytes } = limits
  const cursor = new JsonCursor(window, name, recordBytes)
  if (shape.kind === 'LINES') await walkLines(window, pass, recordBytes)
  else if (shape.kind === 'SEQUENCE') await walkSequence(cursor, pass)
  else await walkArray(cursor, pass, shape.key, options.rowsUnder === undefined)
}

function writeHeader({ labels }: JsonColumns, writer: SpoolWriter): void {
  const header = labels.map((label) => `"${label.replaceAll('"', '""')}"`).join()
  writer.put(Buffer.from(`${header}\n`))
}

function describeShape(shape: JsonShape): string {
  if (shape.kind === 'LINES') return 'JSON with an object in each line'
  if (shape.kind === 'SEQUENCE') return 'a sequence of JSON objects'
  return shape.key === undefined ? 'a JSON array of objects' : `JSON with an array of objects under ${shape.key}`
}

function dialectOf(columns: JsonColumns): WrittenDialect {
  return {
    delimiter: 'COMMA',
    quote: 'DOUBLE',
    escape: 'DOUBLED',
    decimal: 'POINT',
    headerRow: true,
    headerLines: 1,
    skipLines: 0,
    footerLines: 0,
    trailingDelimiters: 0,
    trimSpaces: false,
    nullValues: [],
    columns: columns.declared(),
  }
}
