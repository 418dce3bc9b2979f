import { SourceProblem } from '@sluice/row-stream'
import { type ByteSource, truncateAfter, catchTruncatedRead } from '../spool/byte-source.ts'
import type { RowOutput } from '../spool/rejected-rows-file.ts'
import type { ConversionJob } from '../format/conversion-job.ts'
import type { SpoolWriter } from '../spool/spool-writer.ts'
import type { WrittenDialect } from '../format/upload-options.ts'
import { ByteWindow, formatBytes } from './byte-window.ts'
import { JsonColumns } from './json-columns.ts'
import { JsonCursor } from './json-cursor.ts'
import { JsonPass } from './convert-json-objects.ts'
import { type JsonShape, detectShape } from './detect-json-shape.ts'
import { walkArray, walkLines, walkSequence } from './walk-json-rows.ts'

/** The number of bytes at the start that determine the first header. */
const headerSampleBytes = 1024 * 1024

type JsonConversion = Pick<ConversionJob, 'name' | 'limits' | 'options' | 'firstBytes'>

/** The result of one pass over all objects. */
interface PassResult {
  isComplete: boolean
  recordCount: number
  writtenRowCount: number
}

/**
 * Writes the objects of a UTF-8 JSON text as lines of delimited text. The keys at the start determine the header. If a
 * later object has another key, only the keys of the rest are read, and then everything is written again. Throws
 * SourceProblem PREVIEW_TOO_LARGE, EMPTY_SOURCE, ROWS_KEY_NOT_SET or EMPTY_FILE if the text has no rows or no columns.
 */
export async function writeJson(
  source: ByteSource,
  output: RowOutput,
  conversion: JsonConversion,
): Promise<{ kind: string; dialect: WrittenDialect; complete: boolean; written: number }> {
  const shape = await detectShapeOf(source, conversion)
  const columns = new JsonColumns(conversion.name)
  const headerSample = truncateAfter(source, headerSampleBytes)
  await runPass(headerSample, shape, conversion, new JsonPass(columns)).catch(catchTruncatedRead)
  const result = await writeRows(source, output, conversion, shape, columns)
  assertHasRows(result, columns, shape, conversion)
  const { isComplete, writtenRowCount } = result
  return {
    kind: describeShape(shape),
    dialect: describeDialect(columns),
    complete: isComplete,
    written: writtenRowCount,
  }
}

/** Writes the header and all rows. Starts again with a wider header if a row has a key that the header lacks. */
async function writeRows(
  source: ByteSource,
  output: RowOutput,
  conversion: JsonConversion,
  shape: JsonShape,
  columns: JsonColumns,
): Promise<PassResult> {
  for (;;) {
    output.writer.startOver()
    output.rejects.startOver()
    writeHeader(columns, output.writer)
    const pass = new JsonPass(columns, output)
    const isComplete = (await runPass(source, shape, conversion, pass).catch(catchTruncatedRead)) !== 'TRUNCATED'
    pass.flush()
    if (!pass.needsAnotherPass) return { isComplete, recordCount: pass.rows, writtenRowCount: pass.written }
  }
}

/** Throws SourceProblem if the text has no object with a key. The problem depends on what the user can do. */
function assertHasRows(
  { isComplete, recordCount }: PassResult,
  { labels }: JsonColumns,
  shape: JsonShape,
  { name, limits, options, firstBytes = 0 }: JsonConversion,
): void {
  // An incomplete record may lack keys, so the columns cannot be derived from it.
  if (recordCount === 0 && !isComplete)
    throw new SourceProblem(
      'PREVIEW_TOO_LARGE',
      `A preview reads only the first ${formatBytes(firstBytes)} of ${name}, and this part has no complete record. A run reads records of up to ${formatBytes(limits.recordBytes)}.`,
    )
  if (labels.length > 0) return
  if (recordCount === 0 && shape.kind === 'ARRAY') {
    const isKnownAsRows = shape.key === undefined || shape.key === options.rowsUnder
    if (isKnownAsRows)
      throw new SourceProblem(
        'EMPTY_SOURCE',
        `${name} is an empty list, and no earlier load defines its columns. Run again once the list has records.`,
      )
    throw new SourceProblem(
      'ROWS_KEY_NOT_SET',
      `The only list in ${name} is empty and has the key ${shape.key}. If this list is for the records, set rowsUnder to its key.`,
    )
  }
  throw new SourceProblem('EMPTY_FILE', `${name} has no object with a key, so it has no rows.`)
}

async function detectShapeOf(source: ByteSource, { name, limits, options }: JsonConversion): Promise<JsonShape> {
  await using window = new ByteWindow(source)
  return await detectShape({ window, name, recordBytes: limits.recordBytes, rowsUnder: options.rowsUnder })
}

/** Lets a pass process all rows of a text with this shape. */
async function runPass(
  source: ByteSource,
  shape: JsonShape,
  { name, limits, options }: JsonConversion,
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

/** Returns the dialect of the written text. */
function describeDialect(columns: JsonColumns): WrittenDialect {
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
    columns: columns.declaredColumns(),
  }
}
