export interface WarehouseMaintenance {
  /** Throws WAREHOUSE_OUTDATED if the warehouse's hidden schema is older than this version requires. */
  check(): Promise<void>
  countConnections(): number
  /**
   * Drops the staging tables of runs that are not alive, and returns their number. Lists the tables before it calls
   * `listLiveRuns`, so that it cannot drop the table of a run that starts in between.
   */
  sweepStaging(listLiveRuns: () => Promise<ReadonlySet<string>>): Promise<number>
  /**
   * Deletes entries older than `keepDays` days from the ledger (Sluice's table of loads), except entries of runs that
   * loaded rows of an existing table. Returns the number of deleted runs.
   */
  pruneLedger(keepDays: number): Promise<number>
  /**
   * Drops tables that publications replaced and that were kept for their full retention time. Returns the number of
   * those publications.
   */
  dropExpiredTables(): Promise<number>
}
