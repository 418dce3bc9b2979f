/** The maximum number of rejected rows that an attempt stores. Further ones are only counted. */
export const maxKeptRejects = 10_000

/** The share of the rows that may be rejected, 1 %. It applies from 100 rows on. */
const rejectTolerance = { share: 0.01, fromRows: 100 }

/** A load will probably fail if this share of a file's first rows is rejected. */
const probableFailureShare = 0.9

/**
 * Returns a warning if at least 90 % of a file's first rows do not fit. Returns undefined otherwise, and for fewer than
 * 100 rows. `rowCount` is the number of first rows, `count` the number of rejected ones, and `first` the location of
 * the first rejected row.
 */
export function describeProbableFailure(
  rowCount: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  if (rowCount < rejectTolerance.fromRows || rejected < rowCount * probableFailureShare) return undefined
  const [rejectedText, rowsText] = [rejected, rowCount].map((count) => count.toLocaleString('en'))
  return `Of the first ${rowsText} rows, ${rejectedText} do not fit, so a run would probably fail.${first ? ` The first is in ${first}.` : ''}`
}

/**
 * Returns why a load with too many rejected rows is not published, or undefined if it is. At most 1 % of the rows may
 * be rejected; with fewer than 100 rows, one fitting row suffices. `count` is the number of rejected rows, and `first`
 * the location of the first one.
 */
export function describeTooManyRejected(
  fittingRows: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  const totalRows = fittingRows + rejected
  const isSmallLoad = totalRows < rejectTolerance.fromRows
  const isTolerated = isSmallLoad ? fittingRows > 0 : rejected <= totalRows * rejectTolerance.share
  if (isTolerated || rejected === 0) return undefined
  const reason =
    fittingRows === 0 ? 'so no row would be left' : `and at most ${rejectTolerance.share * 100} % may be rejected`
  return (
    `${rejected} of ${totalRows} rows do not fit, ${reason}. ` +
    `The old data stays. ${first ? `The first is in ${first}. ` : ''}` +
    'The run’s rejected rows list the reasons; correct them in the source and run again.'
  )
}

/** The maximum bytes of a rejected record that are stored. */
export const maxRawBytes = 4096

const lineFeed = 0x0a
const carriageReturn = 0x0d
const isContinuationByte = (byte: number): boolean => (byte & 0xc0) === 0x80

/**
 * Converts a rejected record to a text that databases can store: without its line end, truncated to 4 KB, and with NULs
 * made visible.
 */
export function rawText(record: Uint8Array): string {
  let end = record.length
  while (end > 0 && (record[end - 1] === lineFeed || record[end - 1] === carriageReturn)) end--
  if (end > maxRawBytes) {
    end = maxRawBytes
    // Moves back to the start of a UTF-8 character, so that the text does not end in the middle of one.
    while (end > 0 && isContinuationByte(record[end]!)) end--
  }
  return Buffer.from(record.buffer, record.byteOffset, end).toString('utf8').replaceAll('\0', '␀')
}
