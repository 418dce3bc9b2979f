/** A tool that loads rows into a table. */
export interface Loader {
  name: string
  /** Runs before each load and is not measured. */
  prepare?(): Promise<void>
  load(): Promise<LoadCost>
  /** Returns the table with the loaded rows. Absent if the loader discards the rows. */
  table?(): TableLocation
}

export interface TableLocation {
  database: string
  /** Quoted name. */
  table: string
  /** SQL expression of the compared values of a row of table `t`. Default: all columns. */
  values?: string
}

export interface LoadCost {
  /** From the request of the load until readers see the rows. */
  milliseconds: number
  /** Peak memory of the loading processes in MiB, without PostgreSQL. */
  memory: number
}
