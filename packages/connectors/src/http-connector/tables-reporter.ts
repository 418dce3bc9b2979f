import type { ReadReporter, RejectedRow } from '@sluice/row-stream'
import { BadRecord } from './records/flatten-record.ts'

/** The maximum number of rejected rows in memory. They are reported again if a table is read a second time. */
const maxStoredRejects = 1_000
/** Maximum characters of a stored rejected row. */
const maxRawLength = 4_000
const maxColumnLength = 300
const maxReasonLength = 300

/** Reports the progress and the rejected rows of one read, for all its tables together. */
export interface TablesReporter {
  /** Adds received bytes to the reported progress. */
  addBytes(count: number): void
  /** The number of records rejected until now. */
  readonly rejectedCount: number
  /** Reports activity, so that the run does not count as stalled. */
  reportActivity(): void
  /**
   * Returns the result of `add`. If `add` throws `BadRecord`, rejects the record and returns undefined. `number` is the
   * record's position, from 1.
   */
  tryRecord<T>(number: number, record: unknown, add: () => T): T | undefined
  /** Rejects a row with texts that are short enough. */
  reject(row: RejectedRow): void
  /** Rejects a record. `number` is its position, from 1. */
  rejectRecord(number: number, record: unknown, reason: string): void
  /** Reports why everything is read although an increment was requested. */
  reportFullRead(reason: string): void
  /** Discards all reports, because all records will be read again. */
  startOver(): Promise<void>
  /** Returns the reporter for reading the next table. Its progress is added to that of the earlier tables. */
  createTableReporter(): ReadReporter
  log: ReadReporter['log']
}

export function createTablesReporter(report: ReadReporter): TablesReporter {
  let bytesRead = 0
  let rowsOfEarlierTables = 0
  let rowsOfTable = 0
  const rejectedRows: RejectedRow[] = []
  let unstoredRejects = 0

  function reject(row: RejectedRow): void {
    if (rejectedRows.length < maxStoredRejects) rejectedRows.push(row)
    else unstoredRejects += 1
    report.reject(row)
  }

  const rejectTruncated = (row: RejectedRow) => reject(truncateRow(row))

  return {
    reject,
    log: (level, importance, message) => report.log(level, importance, message),
    addBytes(count) {
      bytesRead += count
      report.progress({ bytesRead })
    },
    get rejectedCount() {
      return rejectedRows.length + unstoredRejects
    },
    reportActivity: () => report.progress({}),
    tryRecord(number, record, add) {
      try {
        return add()
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error
        const { message: reason, path } = error
        const column = path === undefined ? {} : { column: path }
        rejectTruncated({ line: number, reason, raw: formatRecord(record), ...column })
        return undefined
      }
    },
    rejectRecord: (number, record, reason) => rejectTruncated({ line: number, reason, raw: formatRecord(record) }),
    reportFullRead: (reason) => report.readsEverything?.(reason),
    async startOver() {
      rejectedRows.length = 0
      unstoredRejects = 0
      await report.startOver()
    },
    createTableReporter() {
      rowsOfEarlierTables += rowsOfTable
      rowsOfTable = 0
      const storedRejectsBefore = rejectedRows.length
      const unstoredRejectsBefore = unstoredRejects
      return {
        log: () => {},
        progress({ rowsRead }) {
          rowsOfTable = rowsRead ?? rowsOfTable
          report.progress({ bytesRead, rowsRead: rowsOfEarlierTables + rowsOfTable })
        },
        reject: rejectTruncated,
        rejectMore(count) {
          unstoredRejects += count
          report.rejectMore(count)
        },
        async startOver() {
          rowsOfTable = 0
          rejectedRows.length = storedRejectsBefore
          unstoredRejects = unstoredRejectsBefore
          await report.startOver()
          // Starting over discards the rejects of earlier tables too, so they are reported again.
          for (const row of rejectedRows) report.reject(row)
          if (unstoredRejects > 0) report.rejectMore(unstoredRejects)
          report.progress({ bytesRead, rowsRead: rowsOfEarlierTables })
        },
      }
    },
  }
}

const truncateRow = ({ line, column, reason, raw }: RejectedRow): RejectedRow => ({
  line,
  ...(column !== undefined && { column: truncateText(column, maxColumnLength) }),
  reason: truncateText(reason, maxReasonLength),
  raw: truncateText(raw, maxRawLength),
})

/** Formats a record as JSON text. Returns an empty text if the record is nested too deeply. */
function formatRecord(record: unknown): string {
  try {
    return JSON.stringify(record) ?? String(record)
  } catch (error) {
    if (error instanceof RangeError) return ''
    throw error
  }
}

/**
 * Truncates a text and replaces characters that a database cannot store. Makes a copy, because a JavaScript substring
 * keeps the whole text in memory.
 */
function truncateText(text: string, maxLength: number): string {
  const truncatedText = text.slice(0, maxLength).replaceAll('\0', '␀').toWellFormed()
  return text.length > maxLength ? Buffer.from(truncatedText).toString() : truncatedText
}
