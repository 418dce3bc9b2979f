export interface WarehouseMaintenance {
  /** Throws WAREHOUSE_OUTDATED if the warehouse's hidden schema is older than this version requires. */
  check(): Promise<void>
  countConnections(): number
  /**
   * Drops staging tables of runs that are not alive; returns their number. It calls `alive` after listing the tables, so a run
   * that starts in between cannot lose its table.
   */
  sweepStaging(alive: () => Promise<ReadonlySet<string>>): Promise<number>
  /** Deletes ledger entries older than `days` days of runs that have no rows in any table. Returns the number of runs. */
  pruneLedger(days: number): Promise<number>
  /** Drops replaced tables whose retention has expired; returns the number of publications. */
  dropExpiredTables(): Promise<number>
}
