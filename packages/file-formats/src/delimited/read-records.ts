import type { RowInput } from './open-delimited-rows.ts'
import type { RecordReader } from './record-reader.ts'
import type { TextPart } from './similar-texts/text-part.ts'

/** Yields each record of the parts, up to `maxBytes` bytes in total. */
export function* readRecords(
  parts: readonly TextPart[],
  maxBytes: number,
  openPart: (part: TextPart) => RowInput,
): Generator<{ records: RecordReader; part: TextPart }, void, void> {
  let bytesBefore = 0
  for (const part of parts) {
    const { records, reader } = openPart(part)
    while (records.advance()) {
      yield { records, part }
      if (bytesBefore + reader.position - part.from > maxBytes) return
    }
    bytesBefore += part.end - part.from
  }
}
