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
 * Parses the row that starts at `from`. Returns its fields and the position after its line end, or undefined if the row
 * is incomplete or malformed.
 */
function parseRow(text: string, from: number): { fields: string[]; next: number } | undefined {
  const fields: string[] = []
  let fieldStart = from
  while (fieldStart < text.length) {
    const isQuoted = text.charCodeAt(fieldStart) === quoteCode
    const fieldEnd = isQuoted ? findQuotedEnd(text, fieldStart) : findPlainEnd(text, fieldStart)
    if (fieldEnd === undefined) return undefined
    const fieldText = text.slice(fieldStart, fieldEnd)
    fields.push(isQuoted ? unquote(fieldText) : fieldText)
    const separator = text.charCodeAt(fieldEnd) === carriageReturnCode ? fieldEnd + 1 : fieldEnd
    if (text.charCodeAt(separator) === lineFeedCode) return { fields, next: separator + 1 }
    // The row is incomplete if the text ends here, and malformed if a quoted field continues after its closing quote.
    if (text.charCodeAt(separator) !== commaCode) return undefined
    fieldStart = separator + 1
  }
  return undefined
}

const unquote = (quotedField: string): string => quotedField.slice(1, -1).replaceAll('""', '"')

/**
 * Returns the position after the closing quote of the field at `from`, or undefined if the quote or the character after
 * it is missing.
 */
function findQuotedEnd(text: string, from: number): number | undefined {
  let quote = text.indexOf('"', from + 1)
  while (quote >= 0 && quote + 1 < text.length) {
    const isDoubled = text.charCodeAt(quote + 1) === quoteCode
    if (!isDoubled) return quote + 1
    // A doubled quote is a quote in the field.
    quote = text.indexOf('"', quote + 2)
  }
  return undefined
}

/** Returns the position of the comma or line end after the field, or undefined if it is missing. */
function findPlainEnd(text: string, from: number): number | undefined {
  for (let position = from; position < text.length; position += 1) {
    const code = text.charCodeAt(position)
    if (code === commaCode || code === lineFeedCode) return position
    if (code === carriageReturnCode && text.charCodeAt(position + 1) === lineFeedCode) return position
  }
  return undefined
}

const createIncompleteRowProblem = (system: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The response of ${system} is not valid CSV: it ends inside a row. Run again. If it happens again, check the system.`,
  )
