export interface WarehouseMaintenance {
  /** Throws WAREHOUSE_OUTDATED if the warehouse's hidden schema is older than this version requires. */
  check(): Promise<void>
  countConnections(): number
  /**
   * Drops the staging tables of runs that are not alive, and returns their number. Lists the tables before it calls `alive`, so
   * that it cannot drop the table of a run that starts in between.
   */
  sweepStaging(alive: () => Promise<ReadonlySet<string>>): Promise<number>
  /** Deletes ledger entries older than `keepDays` days, except those of runs with rows in a table. Returns the number of runs. */
  pruneLedger(keepDays: number): Promise<number>
  /** Drops replaced tables after their retention; returns the number of publications. */
  dropExpiredTables(): Promise<number>
}
