import type { ImportOptions } from './target.ts'

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

/** A row of the view that was not taken. Structurally what a run keeps of the rows that it sets aside. */
export interface RejectedRow {
  /** Of the view, from 1, in the order in which it was read. */
  line: number
  column?: string
  reason: string
  /** The value as JSON. */
  raw: string
}

const number = (amount: number) => amount.toLocaleString('en')
const count = (amount: number, noun: string) => `${number(amount)} ${amount === 1 ? noun : `${noun}s`}`

/** What a push that came to its end says of itself. */
export function whatWasPushed(place: string, pushed: Pushed, { dryRun }: ImportOptions): string {
  const { rows, sent, empty, rejected, firstRejected, imported, updated, ignored, deleted, warning } = pushed
  if (rows === 0) return `${place} has no rows: nothing was sent.`
  const without = empty > 0 ? ` ${count(empty, 'row')} without a value ${empty === 1 ? 'was' : 'were'} skipped.` : ''
  const refused =
    rejected > 0
      ? ` ${count(rejected, 'row')} ${rejected === 1 ? 'was' : 'were'} refused, the first for this reason: ${firstRejected ?? 'none is given'}${/[.!?]$/.test(firstRejected ?? '') ? '' : '.'} The run’s rejected rows name them all.`
      : ''
  const warns = warning === undefined ? '' : ` DHIS2 warns: ${warning}`
  if (sent === 0) return `Nothing of ${place} was sent.${without}${refused}`
  const tense = dryRun ? 'A dry run, so nothing is stored. DHIS2 would have' : 'DHIS2 has'
  const did = `${number(imported)} imported, ${number(updated)} updated, ${number(deleted)} deleted and ${number(ignored)} ignored`
  return `Sent ${count(sent, 'value')} of ${place}. ${tense} ${did}.${without}${refused}${warns}`
}
