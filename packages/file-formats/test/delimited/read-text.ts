import { valueText } from '../../src/delimited/dialect/file-sample.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { describeGuesses } from '../../src/delimited/dialect/detected-options.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import type { RejectedRow } from '@sluice/row-stream'
import { rejectFaultyRecord } from '../../src/delimited/rejected-row.ts'
import { detectText, openRows } from '../../src/delimited/open-delimited-rows.ts'
import { IS_QUOTED } from '../../src/delimited/record-scanner.ts'
import type { TextSource } from '../../src/delimited/text-file.ts'

/** A text in memory as if it were a file of UTF-8. */
export function textOf(content: string | Uint8Array): TextSource {
  const bytes = Buffer.from(content)
  return {
    name: 'input.csv',
    size: bytes.length,
    skip: 0,
    read: (into, at, length, position) => bytes.copy(into, at, position, Math.min(bytes.length, position + length)),
    assertUnchanged: () => {},
  }
}

/** All rows of a text by the plain way through it, with its dialect guessed. */
export function readText(
  content: string | Uint8Array,
  options: DelimitedOptions = {},
  limits = defaultDelimitedLimits,
) {
  const text = textOf(content)
  const { dialect, guesses, notes, unread } = detectText(text, options)
  const { records, shape } = openRows(text, dialect, limits)
  const { scanner, grammar } = records
  const nulls = new Set(dialect.nulls)
  const rows: (string | null)[][] = []
  const rejected: RejectedRow[] = []
  while (records.advance()) {
    if (records.fault) rejected.push(rejectFaultyRecord(records, shape))
    else
      rows.push(
        dialect.labels.map((_, index) => {
          const from = scanner.starts[index]!
          const to = scanner.ends[index]!
          if (from === to && scanner.fieldFlags[index]! < IS_QUOTED) return null
          if (nulls.has(records.bytes.toString('utf8', from, to))) return null
          return valueText(records.bytes, from, to, scanner.fieldFlags[index]!, grammar)
        }),
      )
  }
  return { dialect, guesses, notes, unread, says: describeGuesses(guesses), labels: dialect.labels, rows, rejected }
}
