/** A row of the view that was not taken. Structurally what a run keeps of the rows that it sets aside. */
export interface RejectedRow {
  /** Of the view, from 1, in the order in which it was read. */
  line: number
  column?: string
  reason: string
  /** The value as JSON. */
  raw: string
}
