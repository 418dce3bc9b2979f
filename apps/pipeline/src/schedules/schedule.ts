import type { RunTrigger } from '@sluice/contracts'

/** The configured schedule of a runnable object. */
export interface Schedule {
  /** The uid of the object, from which random triggers derive their time. */
  uid: string
  disabled: boolean
  runTrigger: RunTrigger
  cronExpression: string | null
  continuouslyUpdated: boolean
  /** In minutes. */
  continuousUpdateInterval: number | null
  /** In hours. */
  fullRefreshInterval: number | null
}

/** The schedule columns, which `runnables` and every table with schedules have. */
export interface ScheduleRow {
  uid: string
  disabled: boolean
  run_trigger: string
  cron_expression: string | null
  continuously_updated: boolean
  continuous_update_interval: number | null
  full_refresh_interval: number | null
}

export const toSchedule = (row: ScheduleRow): Schedule => ({
  uid: row.uid,
  disabled: row.disabled,
  runTrigger: row.run_trigger as RunTrigger,
  cronExpression: row.cron_expression,
  continuouslyUpdated: row.continuously_updated,
  continuousUpdateInterval: row.continuous_update_interval,
  fullRefreshInterval: row.full_refresh_interval,
})
