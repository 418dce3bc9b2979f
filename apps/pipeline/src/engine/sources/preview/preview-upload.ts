import { DelimitedProblem, previewRows, type DelimitedOptions } from '@sluice/delimited'
import { identifiers } from '../../../identifiers.ts'
import { openUpload, type Upload } from '../files/open-upload.ts'
import type { UploadOptions } from '../files/upload.ts'
import { isParquet } from '../read-upload.ts'
import { SourceProblem } from '../source.ts'
import type { SourcePreview } from './source-preview.ts'

/** Bytes of rows: more than is looked at. */
const firstBytes = 2 * 1024 * 1024

/** The first rows of an uploaded file of text, workbook or archive, with what was guessed of it. */
export async function previewUpload(
  upload: Omit<Upload, 'options'>,
  options: DelimitedOptions & UploadOptions,
  most: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  using opened = await openUpload({ ...upload, options, firstBytes }, signal)
  if (opened.format === 'PARQUET') throw isParquet(upload.name)
  const given = options.columns ?? []
  const { columns, rows, rejected, sample, guesses, notes, description } = looked()
  const named = identifiers(columns.map(({ label }) => label))
  return {
    columns: columns.map(({ label, dataType, precision, scale }, index) => {
      const own = given.find((one) => one.index === index || one.label === label)
      const decimal = precision === undefined ? {} : { precision, scale: scale ?? 0 }
      return { label, dataType, ...decimal, name: own?.name ?? named[index]! }
    }),
    rows,
    rejected: [...rejected, ...[...opened.rejects()].slice(0, 100)].slice(0, 100),
    notes: [opened.how, `It is read with ${description}.`, ...notes],
    complete: opened.complete && sample.complete && rows.length <= most,
    csvGuesses: guesses,
  }

  function looked() {
    try {
      return previewRows(opened.file, { ...options, ...opened.dialect }, { rows: most })
    } catch (error) {
      if (error instanceof DelimitedProblem) throw new SourceProblem(error.code, error.message, { cause: error })
      throw error
    }
  }
}
