import { expressionOf } from '../../engine/schedules/expression.ts'
import { scheduleOf, type ScheduleRow } from '../../engine/schedules/schedule.ts'
import type { Asked } from '../operation.ts'

/** The zone that the caller's client keeps time in; undefined while nobody can say. */
export async function zoneOfClient({ identity, caller }: Asked): Promise<string | undefined> {
  // What is looked at is worth showing without it.
  const client = await identity.client(caller.client).catch(() => undefined)
  return client?.timeZone
}

/**
 * When something runs, for people: `17 3 * * * (Europe/Oslo)`, and with continuous updates
 * `every 15 minutes; full load at 17 3 * * * (Europe/Oslo) and every 24 hours`. Undefined where it runs only when it is asked to. `zone` is that of its client.
 */
export function triggerExpressionOf(row: ScheduleRow, zone: string | undefined): string | undefined {
  const schedule = scheduleOf(row)
  const expression = expressionOf(schedule)
  const triggered = expression && (zone ? `${expression} (${zone})` : expression)
  if (!schedule.continuouslyUpdated) return triggered
  const { continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const full = [triggered && `at ${triggered}`, hours && every(hours, 'hour')].filter(Boolean).join(' and ')
  return [minutes && every(minutes, 'minute'), full && `full load ${full}`].filter(Boolean).join('; ') || undefined
}

const every = (count: number, unit: string) => `every ${count === 1 ? unit : `${count} ${unit}s`}`
