/**
 * The rows of one table are parts of the records of another table. A merge removes the parts of each record that it brings, unless they come again.
 */
export interface PartOf {
  /** The table of the records, in the same schema. */
  table: string
  /** The columns that identify a record. Their values, joined by `/`, are the record's id. */
  keys: readonly string[]
  /** The column of the parts that holds the id of their record. */
  column: string
}

/** The staging table of the records that rows are parts of. */
export interface StagedRecords extends Pick<PartOf, 'keys' | 'column'> {
  staging: string
}
