/** Maximum number of rejected rows that an attempt stores; further ones are only counted. */
export const mostKeptRejects = 10_000

/** One row in a hundred may be rejected. With fewer than a hundred rows, at least one row must fit. */
const rejectTolerance = { share: 0.01, fromRows: 100 }

/** A load probably fails if this share of the first rows of a file is rejected. */
const likelyShare = 0.9

/** Returns a warning if nearly all of the first rows of a file do not fit. `first` is the place of the first rejected row. */
export function likelyRejected(
  rows: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  if (rows < rejectTolerance.fromRows || rejected < rows * likelyShare) return undefined
  const [some, all] = [rejected, rows].map((count) => count.toLocaleString('en'))
  return `Of the first ${all} rows, ${some} do not fit, so a run would probably fail.${first ? ` The first is in ${first}.` : ''}`
}

/** Returns why a load with so many rejected rows is not published; undefined if it is. `first` is the first rejected row. */
export function tooManyRejected(
  fitting: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  const total = fitting + rejected
  const fits = total < rejectTolerance.fromRows ? fitting > 0 : rejected <= total * rejectTolerance.share
  if (fits || rejected === 0) return undefined
  const why = fitting === 0 ? 'so no row would be left' : `and at most ${rejectTolerance.share * 100} % may be rejected`
  return (
    `${rejected} of ${total} rows do not fit, ${why}. ` +
    `The old data stays. ${first ? `The first is in ${first}. ` : ''}` +
    'The run’s rejected rows list the reasons; correct them in the source and run again.'
  )
}

/** Maximum bytes of a rejected record that are stored. */
export const maxRawBytes = 4096

/** Returns a rejected record as text: without its line end, cut to 4 KB, and with visible NULs, because the text must be storable. */
export function rawText(record: Uint8Array): string {
  let end = record.length
  while (end > 0 && (record[end - 1] === 10 || record[end - 1] === 13)) end--
  if (end > maxRawBytes) {
    end = maxRawBytes
    while (end > 0 && (record[end]! & 0xc0) === 0x80) end--
  }
  return Buffer.from(record.buffer, record.byteOffset, end).toString('utf8').replaceAll('\0', '␀')
}
