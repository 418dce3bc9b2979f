import type { RejectedRow, LoadReport } from '@sluice/row-stream'
import { BadRecord } from './flatten-record.ts'

/** Maximum number of stored rejected rows, which are reported again when a table is read again. */
const maxKeptRejects = 1_000
/** Maximum characters of a stored rejected row. */
const maxRawLength = 4_000
const maxColumnLength = 300
const maxReasonLength = 300

/** Reports the progress of several tables as one reading. */
export interface ReadingLog {
  /** Adds bytes that the system returned. */
  bytes(more: number): void
  /** Sets the number of records of the current stream. */
  records(count: number): void
  /** Number of rejected records so far. */
  readonly rejected: number
  alive(): void
  /** Returns the result of `add`, or undefined if the record was rejected. `number` counts from 1. */
  tryRecord<T>(number: number, record: unknown, add: () => T): T | undefined
  /** Rejects a whole record. `number` counts from 1. */
  rejectRecord(number: number, record: unknown, reason: string): void
  /** Reports that everything is read although an increment was requested. */
  reportFullRead(why: string): void
  forTable(): LoadReport
  log: LoadReport['log']
}

export function createReadingLog(report: LoadReport): ReadingLog {
  let bytesRead = 0
  let rowsBefore = 0
  let rowsNow = 0
  const rejected: RejectedRow[] = []
  let more = 0

  function reject({ line, column, reason, raw }: RejectedRow): void {
    const row: RejectedRow = {
      line,
      ...(column !== undefined && { column: truncateText(column, maxColumnLength) }),
      reason: truncateText(reason, maxReasonLength),
      raw: truncateText(raw, maxRawLength),
    }
    if (rejected.length < maxKeptRejects) rejected.push(row)
    else more += 1
    report.reject(row)
  }

  return {
    log: (level, importance, message) => report.log(level, importance, message),
    bytes(count) {
      bytesRead += count
      report.progress({ bytesRead })
    },
    records: () => report.progress({ bytesRead }),
    get rejected() {
      return rejected.length + more
    },
    alive: () => report.progress({}),
    tryRecord(number, record, add) {
      try {
        return add()
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error
        const { message: reason, path } = error
        reject({ line: number, reason, raw: formatRecord(record), ...(path !== undefined && { column: path }) })
        return undefined
      }
    },
    rejectRecord: (number, record, reason) => reject({ line: number, reason, raw: formatRecord(record) }),
    reportFullRead(why) {
      report.log('INFO', 'MEDIUM', why)
      report.readsEverything?.(why)
    },
    forTable() {
      rowsBefore += rowsNow
      rowsNow = 0
      const [told, counted] = [rejected.length, more]
      return {
        log: () => {},
        progress({ rowsRead }) {
          rowsNow = rowsRead ?? rowsNow
          report.progress({ bytesRead, rowsRead: rowsBefore + rowsNow })
        },
        reject,
        rejectMore(count) {
          more += count
          report.rejectMore(count)
        },
        async startOver() {
          rowsNow = 0
          rejected.length = told
          more = counted
          await report.startOver()
          for (const row of rejected) report.reject(row)
          if (more > 0) report.rejectMore(more)
          report.progress({ bytesRead, rowsRead: rowsBefore })
        },
      }
    },
  }
}

/** Formats the record as text; empty if it is nested too deeply to be formatted. */
function formatRecord(record: unknown): string {
  try {
    return JSON.stringify(record) ?? String(record)
  } catch (error) {
    if (error instanceof RangeError) return ''
    throw error
  }
}

/**
 * Truncates and cleans a text for storage, because the invalid part can be in the text itself. Copies it, because a substring
 * keeps the whole text in memory.
 */
function truncateText(text: string, most: number): string {
  const shown = text.slice(0, most).replaceAll('\0', '␀').toWellFormed()
  return text.length > most ? Buffer.from(shown).toString() : shown
}
