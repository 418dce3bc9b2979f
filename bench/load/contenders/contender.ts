/** One way of getting rows into a table. */
export interface Contender {
  name: string
  /** What has to be done before, and is not measured. */
  prepare?(): Promise<void>
  load(): Promise<Measured>
  /** Where the rows are now. Absent where none are kept. */
  table?(): Place
}

export interface Place {
  database: string
  /** Quoted. */
  table: string
  /** SQL of what is compared of a row, of the table `t`; all its values when absent. */
  values?: string
}

export interface Measured {
  /** From asking for the load to readers seeing it. */
  milliseconds: number
  /** The most that the loading processes held, PostgreSQL's left out, in MiB. */
  memory: number
}
