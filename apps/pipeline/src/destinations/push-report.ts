import type { ImportOptions } from './push-target.ts'

/** Receives the progress of a push to a target system. */
export interface PushReport {
  /** Reports the total number of rows that were read from the view, and of bytes that were sent. */
  progress(totals: { rowsRead: number; bytesRead: number }): void
  /** Reports a reason why a row was rejected. A row can have several reasons. */
  reject(row: RejectedRow): void
  /** Reports the total number of rejected rows so far. */
  rejected(rows: number): void
  log(level: 'INFO' | 'WARN', importance: 'LOW' | 'MEDIUM' | 'HIGH', message: string): void
}

export interface PushResult {
  /** The number of rows in the view. */
  rows: number
  /** The number of values that were sent. Excludes rows that have no value or cannot be sent. */
  sent: number
  bytes: number
  empty: number
  /** The number of rows that DHIS2 rejected or that lack a required field. */
  rejected: number
  /** The reason for the first rejected row. */
  firstRejected: string | undefined
  /** The counts that DHIS2 reports. It may count unchanged values as ignored. */
  imported: number
  updated: number
  ignored: number
  deleted: number
  /** A warning of DHIS2 that does not concern a single row. */
  warning: string | undefined
}

/** A rejected row of the view, with the fields of a run's rejected rows. */
export interface RejectedRow {
  /** The row number, from 1, in the order of reading. */
  line: number
  column?: string
  reason: string
  /** The value as JSON. */
  raw: string
}

const formatNumber = (amount: number) => amount.toLocaleString('en')
const formatAmount = (amount: number, noun: string) => `${formatNumber(amount)} ${amount === 1 ? noun : `${noun}s`}`

/** Returns the message of a run that pushed a view. */
export function describePush(viewName: string, pushResult: PushResult, { dryRun }: ImportOptions): string {
  const { rows, sent, imported, updated, ignored, deleted, warning } = pushResult
  if (rows === 0) return `${viewName} has no rows: nothing was sent.`
  const unsentRows = `${describeEmpty(pushResult)}${describeRejected(pushResult)}`
  if (sent === 0) return `Nothing of ${viewName} was sent.${unsentRows}`
  const outcomeIntroduction = dryRun ? 'A dry run, so nothing is stored. DHIS2 would have' : 'DHIS2 has'
  const countsText = `${formatNumber(imported)} imported, ${formatNumber(updated)} updated, ${formatNumber(deleted)} deleted and ${formatNumber(ignored)} ignored`
  const warningText = warning === undefined ? '' : ` DHIS2 warns: ${warning}`
  return `Sent ${formatAmount(sent, 'value')} of ${viewName}. ${outcomeIntroduction} ${countsText}.${unsentRows}${warningText}`
}
const describeEmpty = ({ empty }: PushResult): string =>
  empty === 0 ? '' : ` ${formatAmount(empty, 'row')} without a value ${empty === 1 ? 'was' : 'were'} skipped.`
function describeRejected({ rejected, firstRejected = 'DHIS2 gives no reason' }: PushResult): string {
  if (rejected === 0) return ''
  const rows = `${formatAmount(rejected, 'row')} ${rejected === 1 ? 'was' : 'were'} rejected`
  const reason = /[.!?]$/.test(firstRejected) ? firstRejected : `${firstRejected}.`
  return ` ${rows}, the first for this reason: ${reason} See the rejected rows of the run, and correct them in the source.`
}
