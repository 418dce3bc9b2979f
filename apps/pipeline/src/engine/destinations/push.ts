import type { RejectedRow } from './rejected-row.ts'

/** What a push tells while it is under way. */
export interface PushReport {
  /** Totals: rows of the view that were looked at, bytes that were sent. */
  progress(totals: { rowsRead: number; bytesRead: number }): void
  /** Why a row was not taken. A row may be there for several reasons. */
  reject(row: RejectedRow): void
  /** Rows that were not taken so far. */
  rejected(rows: number): void
  log(level: 'INFO' | 'WARN', importance: 'LOW' | 'MEDIUM' | 'HIGH', message: string): void
}

/** What came of a push. */
export interface Pushed {
  /** Of the view. */
  rows: number
  /** Values that were sent; without those of rows that have no value or cannot be sent. */
  sent: number
  bytes: number
  /** Rows without a value. */
  empty: number
  /** Rows that were not taken: by DHIS2, or since they lack what every value needs. */
  rejected: number
  /** Why the first of them was not. */
  firstRejected: string | undefined
  /** As DHIS2 counts. Values that are as they were may be among the ignored ones. */
  imported: number
  updated: number
  ignored: number
  deleted: number
  /** What DHIS2 warns of, where that is about no row. */
  warning: string | undefined
}
