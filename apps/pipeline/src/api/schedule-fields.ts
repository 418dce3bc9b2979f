import type { RunTrigger } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { type ScheduleRow, toSchedule } from '../schedules/schedule.ts'
import { CronProblem, parseCron } from '../schedules/cron.ts'
import { toCronExpression } from '../schedules/expression.ts'
import type { RequestContext } from './operation.ts'

/** The schedule of a body, as every scheduled object has it. */
export interface ScheduleBody {
  disabled: boolean
  runTrigger: RunTrigger
  cronExpression?: string | undefined
  continuouslyUpdated?: boolean | undefined
  continuousUpdateInterval?: number | undefined
  fullRefreshInterval?: number | undefined
}

/** The columns of a schedule, which are the same in every scheduled table. The scheduler plans the next run itself. */
export const scheduleColumns = (body: ScheduleBody) => ({
  disabled: body.disabled,
  run_trigger: body.runTrigger,
  cron_expression: body.cronExpression ?? null,
  continuously_updated: body.continuouslyUpdated ?? false,
  continuous_update_interval: body.continuousUpdateInterval ?? null,
  full_refresh_interval: body.fullRefreshInterval ?? null,
})

/** The response fields of a schedule. */
export const scheduleFields = (row: Omit<ScheduleRow, 'uid'>) => ({
  disabled: row.disabled,
  runTrigger: row.run_trigger as RunTrigger,
  cronExpression: row.cron_expression ?? undefined,
  continuouslyUpdated: row.continuously_updated,
  continuousUpdateInterval: row.continuous_update_interval ?? undefined,
  fullRefreshInterval: row.full_refresh_interval ?? undefined,
})

/** A month of minutes and a year of hours: what is to come less often has a trigger. */
const longest = { continuousUpdateInterval: 31 * 24 * 60, fullRefreshInterval: 366 * 24 }

/** Refuses, by a 422 that names the field, a schedule that cannot be kept. */
export function checkSchedule(body: ScheduleBody): void {
  if (body.runTrigger === 'CUSTOM') checkExpression(body.cronExpression)
  if (!body.continuouslyUpdated) return
  if (body.continuousUpdateInterval === undefined)
    throw problems.refused(
      '/continuousUpdateInterval',
      'With continuous updates, say every how many minutes: for example 15.',
    )
  for (const field of ['continuousUpdateInterval', 'fullRefreshInterval'] as const) {
    if ((body[field] ?? 1) < 1)
      throw problems.refused(`/${field}`, 'The interval must be 1 or more while continuous updates are on.')
    if ((body[field] ?? 0) > longest[field])
      throw problems.refused(
        `/${field}`,
        `Continuous updates come more often than that: ${longest[field].toLocaleString('en')} at most, or use a trigger instead.`,
      )
  }
}

function checkExpression(expression = ''): void {
  if (!expression.trim())
    throw problems.refused('/cronExpression', 'With the trigger CUSTOM, say when: for example 0 6 * * 1-5.')
  try {
    parseCron(expression)
  } catch (error) {
    if (error instanceof CronProblem) throw problems.refused('/cronExpression', error.message)
    throw error
  }
}

/** The time zone of the caller's client; undefined while the identity service is unavailable. */
export async function zoneOfClient({ identity, caller }: RequestContext): Promise<string | undefined> {
  // The response is useful without the time zone.
  const client = await identity.client(caller.client).catch(() => undefined)
  return client?.timeZone
}

/**
 * When something runs, for people: `17 3 * * * (Europe/Oslo)`, and with continuous updates
 * `every 15 minutes; full load at 17 3 * * * (Europe/Oslo) and every 24 hours`. Undefined if it runs on request only. `zone` is the time zone of its client.
 */
export function triggerExpressionOf(row: ScheduleRow, zone: string | undefined): string | undefined {
  const schedule = toSchedule(row)
  const expression = toCronExpression(schedule)
  const triggered = expression && (zone ? `${expression} (${zone})` : expression)
  if (!schedule.continuouslyUpdated) return triggered
  const { continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const full = [triggered && `at ${triggered}`, hours && every(hours, 'hour')].filter(Boolean).join(' and ')
  return [minutes && every(minutes, 'minute'), full && `full load ${full}`].filter(Boolean).join('; ') || undefined
}

const every = (count: number, unit: string) => `every ${count === 1 ? unit : `${count} ${unit}s`}`
