import type { RunTrigger } from '@sluice/contracts'
import type { ScheduleRow } from '../../engine/schedules/schedule.ts'

/** The schedule of a body, as every scheduled object has it. */
export interface ScheduleBody {
  disabled: boolean
  runTrigger: RunTrigger
  cronExpression?: string | undefined
  continuouslyUpdated?: boolean | undefined
  continuousUpdateInterval?: number | undefined
  fullRefreshInterval?: number | undefined
}

/** As columns, which every scheduled table has alike. The scheduler plans the next run by itself. */
export const scheduleColumns = (body: ScheduleBody) => ({
  disabled: body.disabled,
  run_trigger: body.runTrigger,
  cron_expression: body.cronExpression ?? null,
  continuously_updated: body.continuouslyUpdated ?? false,
  continuous_update_interval: body.continuousUpdateInterval ?? null,
  full_refresh_interval: body.fullRefreshInterval ?? null,
})

/** As they are answered. */
export const scheduleFields = (row: Omit<ScheduleRow, 'uid'>) => ({
  disabled: row.disabled,
  runTrigger: row.run_trigger as RunTrigger,
  cronExpression: row.cron_expression ?? undefined,
  continuouslyUpdated: row.continuously_updated,
  continuousUpdateInterval: row.continuous_update_interval ?? undefined,
  fullRefreshInterval: row.full_refresh_interval ?? undefined,
})
