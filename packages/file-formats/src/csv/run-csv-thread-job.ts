import { type SimilarTexts, groupTextsByDialect } from '../delimited/similar-texts/group-texts-by-dialect.ts'
import { DelimitedReader, type KnownColumns } from '../delimited/delimited-reader.ts'
import type { DelimitedOptions } from '../delimited/dialect/delimited-options.ts'
import { describeGuesses } from '../delimited/dialect/detected-options.ts'
import type { DelimitedDialect } from '../delimited/dialect/dialect.ts'
import type { LostFormat } from '../delimited/source-formats/find-lost-formats.ts'
import type { OddValue } from '../delimited/values-of-unexpected-type.ts'
import type { TextPart, TextSegment } from '../delimited/similar-texts/text-part.ts'
import type { DelimitedLimits } from '../delimited/limits.ts'
import { TextFile } from '../delimited/text-file.ts'
import type { JobPort } from '../reader-thread-protocol.ts'
import { type CsvThreadJob, readCsvFile, scanner, sendRows } from './csv-thread-job.ts'

/** The job to group the texts in a file that can be read as one. */
export interface SimilarTextsJob {
  /** The descriptor of a file that this process has open. */
  file: number
  segments: TextSegment[]
  options: DelimitedOptions
  limits: DelimitedLimits
}

export interface SimilarTextsResult extends Pick<SimilarTexts, 'parts' | 'known' | 'indexes' | 'notes' | 'unread'> {
  dialect: DelimitedDialect
  /** A description of how the texts are read, as a part of a sentence for users. */
  guesses: string
}

/** The job to read the rows of texts in a file that can be read as one. */
export interface TextPartsJob {
  file: number
  fileName: string
  dialect: DelimitedDialect
  parts: TextPart[]
  known: KnownColumns
  limits: DelimitedLimits
}

export interface TextPartsResult {
  /** The columns with types that fit all rows. */
  known: KnownColumns
  /** True if the types were too narrow. The rows that were sent are then invalid. */
  isWidened: boolean
  sourceFormats: readonly (string | undefined)[]
  /** The number of encoded rows of each part. */
  writtenRowCounts: number[]
  /** The values that made a column TEXT. */
  oddValues: OddValue[]
  /** The values that are not printed in the formats of earlier loads. */
  lostFormats: LostFormat[]
}

/** Runs a job for delimited text in the reader thread: groups texts, reads grouped texts, or reads one file. */
export function runCsvJob(job: CsvThreadJob | SimilarTextsJob | TextPartsJob, port: JobPort): Promise<object> {
  if ('segments' in job) return groupTexts(job, port)
  return 'parts' in job ? readTextParts(job, port) : readCsvFile(job, port)
}

/**
 * Groups the texts that can be read as one. Reports progress after each text, so that the main thread sees activity.
 */
async function groupTexts(
  { file: descriptor, segments, options, limits }: SimilarTextsJob,
  port: JobPort,
): Promise<SimilarTextsResult[]> {
  using file = new TextFile(descriptor, segments[0]!.name)
  const onText = () => port.progress({ bytesRead: 0 })
  const groups = groupTextsByDialect(file, segments, { options, limits, wasm: scanner }, onText)
  return groups.map(({ detected, notes, ...group }) => ({
    ...group,
    dialect: detected.dialect,
    guesses: describeGuesses(detected.guesses),
    notes: [...detected.notes, ...notes],
  }))
}

/** The result for types that were too narrow, without the columns. */
const widenedResult: Omit<TextPartsResult, 'known'> = {
  isWidened: true,
  sourceFormats: [],
  writtenRowCounts: [],
  oddValues: [],
  lostFormats: [],
}

/**
 * Sends the rows of grouped texts, one text after the other, as the rows of one file. If their types were too narrow,
 * returns wider ones, and the caller must read the texts again.
 */
async function readTextParts(
  { file: descriptor, fileName, dialect, parts, known: knownColumns, limits }: TextPartsJob,
  port: JobPort,
): Promise<TextPartsResult> {
  using file = new TextFile(descriptor, fileName)
  const reader = new DelimitedReader(file, dialect, limits, scanner, { parts, known: knownColumns })
  const types = await port.open({})
  const outcome = await sendRows(reader, types, port.startPass(limits), (bytesRead, rowsRead) =>
    port.progress({ bytesRead, rowsRead }),
  )
  if ('widened' in outcome) return { ...widenedResult, known: reader.known }
  const bytesRead = parts.reduce((sum, { from, end }) => sum + end - from, 0)
  port.progress({ bytesRead, rowsRead: outcome.rows }, true)
  const oddValues = reader.findOddValues()
  const lostFormats = reader.findLostFormats()
  const { columns, sourceFormats } = reader
  const { writtenRowCounts } = outcome
  return { known: { columns }, isWidened: false, sourceFormats, writtenRowCounts, oddValues, lostFormats }
}
