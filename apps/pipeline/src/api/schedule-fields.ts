import type { RunTrigger } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { type ScheduleRow, toSchedule } from '../schedules/schedule.ts'
import { formatInterval } from '../schedules/describe-schedule.ts'
import { CronProblem, parseCron } from '../schedules/parse-cron.ts'
import { toCronExpression } from '../schedules/schedule-to-cron.ts'
import type { RequestContext } from './operation-context.ts'

export interface ScheduleBody {
  disabled: boolean
  runTrigger: RunTrigger
  cronExpression?: string | undefined
  continuouslyUpdated?: boolean | undefined
  continuousUpdateInterval?: number | undefined
  fullRefreshInterval?: number | undefined
}

/**
 * Returns the schedule columns, which all tables with schedules have. The scheduler computes the time of the next run.
 */
export const toScheduleColumns = (body: ScheduleBody) => ({
  disabled: body.disabled,
  run_trigger: body.runTrigger,
  cron_expression: body.cronExpression ?? null,
  continuously_updated: body.continuouslyUpdated ?? false,
  continuous_update_interval: body.continuousUpdateInterval ?? null,
  full_refresh_interval: body.fullRefreshInterval ?? null,
})

export const presentScheduleFields = (row: Omit<ScheduleRow, 'uid'>) => ({
  disabled: row.disabled,
  runTrigger: row.run_trigger as RunTrigger,
  cronExpression: row.cron_expression ?? undefined,
  continuouslyUpdated: row.continuously_updated,
  continuousUpdateInterval: row.continuous_update_interval ?? undefined,
  fullRefreshInterval: row.full_refresh_interval ?? undefined,
})

/** The maximum intervals: a month in minutes, and a year in hours. For longer intervals, use a run trigger. */
const maxIntervals = { continuousUpdateInterval: 31 * 24 * 60, fullRefreshInterval: 366 * 24 }

/** Throws 422 with the JSON pointer of the field if the schedule is invalid. */
export function assertSchedule(body: ScheduleBody): void {
  if (body.runTrigger === 'CUSTOM') assertCronExpression(body.cronExpression)
  if (!body.continuouslyUpdated) return
  if (body.continuousUpdateInterval === undefined)
    throw problems.refused(
      '/continuousUpdateInterval',
      'Continuous updates need an interval in minutes. Set it, for example to 15.',
    )
  for (const field of ['continuousUpdateInterval', 'fullRefreshInterval'] as const) {
    if ((body[field] ?? 1) < 1)
      throw problems.refused(`/${field}`, 'The interval must be 1 or more while continuous updates are on.')
    if ((body[field] ?? 0) > maxIntervals[field])
      throw problems.refused(
        `/${field}`,
        `The interval is too long for continuous updates. Set at most ${maxIntervals[field].toLocaleString('en')}, or use a run trigger instead.`,
      )
  }
}

/** Throws 422 at `/cronExpression` if the expression is blank or invalid. */
function assertCronExpression(expression = ''): void {
  if (!expression.trim())
    throw problems.refused('/cronExpression', 'The trigger CUSTOM needs a cron expression, for example 0 6 * * 1-5.')
  try {
    parseCron(expression)
  } catch (error) {
    if (error instanceof CronProblem) throw problems.refused('/cronExpression', error.message)
    throw error
  }
}

/** Returns the time zone of the caller's organisation; undefined while the identity service is unavailable. */
export async function readClientTimeZone({ identity, caller }: RequestContext): Promise<string | undefined> {
  // Continue without the time zone, because the rest of the response is useful too.
  const client = await identity.client(caller.client).catch(() => undefined)
  return client?.timeZone
}

/**
 * Formats a schedule for people: `17 3 * * * (Europe/Oslo)`, or with continuous updates `every 15 minutes; full load at
 * 17 3 * * * (Europe/Oslo) and every 24 hours`. Returns undefined for an object without a schedule. `zone` is the time
 * zone of the organisation.
 */
export function formatTrigger(row: ScheduleRow, zone: string | undefined): string | undefined {
  const schedule = toSchedule(row)
  const expression = toCronExpression(schedule)
  const trigger = expression && zone ? `${expression} (${zone})` : expression
  if (!schedule.continuouslyUpdated) return trigger
  const { continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const fullLoadTimes: string[] = []
  if (trigger) fullLoadTimes.push(`at ${trigger}`)
  if (hours) fullLoadTimes.push(formatInterval(hours, 'hour'))
  const phrases: string[] = []
  if (minutes) phrases.push(formatInterval(minutes, 'minute'))
  if (fullLoadTimes.length > 0) phrases.push(`full load ${fullLoadTimes.join(' and ')}`)
  return phrases.length > 0 ? phrases.join('; ') : undefined
}
