import { problems } from '@sluice/http'
import { CronProblem, parseCron } from '../../engine/schedules/cron.ts'
import type { ScheduleBody } from './schedule-columns.ts'

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
