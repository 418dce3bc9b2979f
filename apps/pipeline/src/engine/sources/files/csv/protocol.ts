import type { DelimitedOptions, Encoding, Inspection, Limits, RejectedRow } from '@sluice/delimited'

/** What the thread is started with. */
export interface Job {
  path: string
  fileName: string
  dialect: DelimitedOptions
  limits: Limits
}

/** What the thread was told to do next: begin the second pass, or send one batch more. */
export type Command = 'ENCODE' | 'MORE'

/** Counts over both passes, ready to be reported. */
export interface Totals {
  bytesRead: number
  bytesTotal: number
  rowsRead: number
}

/** What the thread says. The memory of `copyText` is handed over with it. */
export type Message =
  | { kind: 'progress'; totals: Totals }
  | { kind: 'inspected'; inspection: Inspection; encoding: Encoding }
  | { kind: 'batch'; copyText: Uint8Array<ArrayBuffer>; rejected: RejectedRow[] }
  | { kind: 'done' }
  | { kind: 'problem'; code: string; message: string; cause: unknown }
