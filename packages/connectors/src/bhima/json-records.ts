import { SourceProblem } from '@sluice/row-stream'
import { createResponseProblem } from '../http-connector/parse-response.ts'
import { parseJson, maxRecordValues } from '../http-connector/exact-json.ts'

const maxRecordLength = 16_000_000
/**
 * The maximum bytes of a batch. A limit on the number of records alone is not enough, because one record can contain a
 * million values.
 */
const maxBatchBytes = 4_000_000
const maxBatchRecords = 500

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openingSquareBracket = 0x5b
const openingBrackets = new Set([openingSquareBracket, 0x7b])
const closingBrackets = new Set([0x5d, 0x7d])

/**
 * Parses a JSON list in UTF-8 and yields its records in batches of at most 500 records or 4 MB, so that only one batch
 * is in memory. Throws `SourceProblem` if the text is not a complete list, or if a record is larger than 16 MB or has
 * too many values.
 */
export async function* readJsonRecords(
  chunks: AsyncIterable<Buffer>,
  system: string,
): AsyncGenerator<unknown[], void, void> {
  let records: unknown[] = []
  let batchBytes = 0
  /** The bytes of the current record that earlier chunks contained. */
  let earlierBytes: Buffer[] = []
  let earlierByteCount = 0
  let depth = 0
  let isInString = false
  let isEscaped = false
  let hasStarted = false

  /** Parses the current record, which ends with these bytes. Ignores an empty text, as in an empty list. */
  function addRecord(lastBytes: Buffer): void {
    const text = Buffer.concat([...earlierBytes, lastBytes])
      .toString()
      .trim()
    batchBytes += earlierByteCount + lastBytes.length
    earlierBytes = []
    earlierByteCount = 0
    if (text === '') return
    try {
      records.push(parseJson(text, maxRecordValues))
    } catch (error) {
      if (error instanceof SourceProblem) throw error
      throw createResponseProblem(system, 'list of JSON')
    }
  }

  for await (const chunk of chunks) {
    let recordStart = 0
    for (let position = 0; position < chunk.length; position += 1) {
      const byte = chunk[position]!
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (byte === backslash) isEscaped = true
        else if (byte === quote) isInString = false
      } else if (byte === quote) isInString = true
      else if (openingBrackets.has(byte)) {
        if (depth === 0) {
          if (hasStarted || byte !== openingSquareBracket) throw createResponseProblem(system, 'list')
          hasStarted = true
          recordStart = position + 1
        }
        depth += 1
      } else if (closingBrackets.has(byte)) {
        depth -= 1
        if (depth === 0) addRecord(chunk.subarray(recordStart, position))
      } else if (byte === comma && depth === 1) {
        addRecord(chunk.subarray(recordStart, position))
        recordStart = position + 1
        if (records.length >= maxBatchRecords || batchBytes >= maxBatchBytes) {
          yield records
          records = []
          batchBytes = 0
        }
      }
    }
    if (depth === 0) continue
    // The record continues in the next chunk. Copies the bytes, because the source reuses the buffer for the next
    // chunk.
    earlierBytes.push(Buffer.from(chunk.subarray(recordStart)))
    earlierByteCount += chunk.length - recordStart
    if (earlierByteCount > maxRecordLength) throw createResponseProblem(system, 'list of records below 16 MB')
  }
  if (!hasStarted || depth !== 0) throw createResponseProblem(system, 'complete list')
  if (records.length > 0) yield records
}
