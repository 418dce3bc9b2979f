import type { RunTrigger } from '@sluice/contracts'

/** When something is to run, as it was configured. */
export interface Schedule {
  /** Chooses the minute of random triggers, so that it stays the same one. */
  uid: string
  disabled: boolean
  runTrigger: RunTrigger
  cronExpression: string | null
  continuouslyUpdated: boolean
  /** Minutes. */
  continuousUpdateInterval: number | null
  /** Hours. */
  fullRefreshInterval: number | null
}

/** The columns of `runnables`, and of every scheduled table, that say when. */
export interface ScheduleRow {
  uid: string
  disabled: boolean
  run_trigger: string
  cron_expression: string | null
  continuously_updated: boolean
  continuous_update_interval: number | null
  full_refresh_interval: number | null
}

export const scheduleOf = (row: ScheduleRow): Schedule => ({
  uid: row.uid,
  disabled: row.disabled,
  runTrigger: row.run_trigger as RunTrigger,
  cronExpression: row.cron_expression,
  continuouslyUpdated: row.continuously_updated,
  continuousUpdateInterval: row.continuous_update_interval,
  fullRefreshInterval: row.full_refresh_interval,
})
