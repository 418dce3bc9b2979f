import { SourceProblem } from '@sluice/row-stream'

/** The maximum characters of a CSV row. */
const maxRowLength = 16_000_000

const quoteCode = 0x22
const commaCode = 0x2c
const lineFeedCode = 0x0a
const carriageReturnCode = 0x0d

/**
 * Parses CSV (RFC 4180) in UTF-8 and yields its rows in batches of at most `batchSize`. The first row is the header.
 * Throws `SourceProblem` if the text ends inside a row.
 */
export async function* readCsvRows(
  chunks: AsyncIterable<Buffer>,
  { system, batchSize = 1_000 }: { system: string; batchSize?: number },
): AsyncGenerator<string[][], void, void> {
  const decoder = new TextDecoder()
  let pendingText = ''
  for await (const chunk of chunks) {
    const text = pendingText + decoder.decode(chunk, { stream: true })
    const parsedLength = yield* parseCompleteRows(text, batchSize)
    pendingText = text.slice(parsedLength)
    if (pendingText.length > maxRowLength) throw createIncompleteRowProblem(system)
  }
  pendingText += decoder.decode()
  if (pendingText === '') return
  const lastText = pendingText.endsWith('\n') ? pendingText : `${pendingText}\n`
  const parsedLength = yield* parseCompleteRows(lastText, batchSize)
  if (parsedLength < lastText.length) throw createIncompleteRowProblem(system)
}

/** Yields the complete rows of a text in batches. Returns the position of the first incomplete row. */
function* parseCompleteRows(text: string, batchSize: number): Generator<string[][], number, void> {
  let rows: string[][] = []
  let from = 0
  for (;;) {
    const row = parseRow(text, from)
    if (!row) break
    from = row.next
    rows.push(row.fields)
    if (rows.length < batchSize) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
  return from
}

/**
 * Parses the row that starts at `from`. Returns its fields and the position after the row, or undefined if the row is
 * incomplete or malformed.
 */
function parseRow(text: string, from: number): { fields: string[]; next: number } | undefined {
  const fields: string[] = []
  for (let position = from; position < text.length; ) {
    const isQuoted = text.charCodeAt(position) === quoteCode
    const fieldEnd = isQuoted ? findQuotedEnd(text, position) : findPlainEnd(text, position)
    if (fieldEnd < 0) return undefined
    const field = isQuoted
      ? text.slice(position + 1, fieldEnd - 1).replaceAll('""', '"')
      : text.slice(position, fieldEnd)
    fields.push(field)
    position = text.charCodeAt(fieldEnd) === carriageReturnCode ? fieldEnd + 1 : fieldEnd
    if (position >= text.length) return undefined
    if (text.charCodeAt(position) === lineFeedCode) return { fields, next: position + 1 }
    // Malformed: text follows the closing quote of a field.
    if (text.charCodeAt(position) !== commaCode) return undefined
    position += 1
    // The line ends after a comma, so the last field is empty.
    if (text.charCodeAt(position) === lineFeedCode) return { fields: [...fields, ''], next: position + 1 }
  }
  // Incomplete: the text ends after a comma, or nothing is left.
  return undefined
}

/** Returns the position after the closing quote, or -1 if the quote or the character after it is missing. */
function findQuotedEnd(text: string, from: number): number {
  let position = from + 1
  for (;;) {
    position = text.indexOf('"', position)
    if (position < 0 || position + 1 >= text.length) return -1
    if (text.charCodeAt(position + 1) !== quoteCode) return position + 1
    // Skips a doubled quote, which is part of the field.
    position += 2
  }
}

/** Returns the position of the comma or line end after the field, or -1 if it is missing. */
function findPlainEnd(text: string, from: number): number {
  for (let position = from; position < text.length; position += 1) {
    const code = text.charCodeAt(position)
    if (
      code === commaCode ||
      code === lineFeedCode ||
      (code === carriageReturnCode && text.charCodeAt(position + 1) === lineFeedCode)
    )
      return position
  }
  return -1
}

const createIncompleteRowProblem = (system: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The response of ${system} is not valid CSV: it ends inside a row. Run again. If it happens again, check the system.`,
  )
