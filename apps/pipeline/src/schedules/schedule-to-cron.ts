import type { Schedule } from './schedule.ts'
import { createHash } from 'node:crypto'

/** The number of minutes between 0:00 and 5:00. Random night triggers choose one of them. */
const nightMinutes = 5 * 60

/**
 * Returns the cron expression of a schedule: five fields, in the organisation's time zone. Returns undefined for the
 * trigger NEVER, and for CUSTOM without an expression. Returns a CUSTOM expression as stored, without the optional
 * field for seconds.
 */
export function toCronExpression({
  uid,
  runTrigger,
  cronExpression,
}: Pick<Schedule, 'uid' | 'runTrigger' | 'cronExpression'>) {
  const randomNightTime = () => {
    const minute = computeStableNumber(uid, 'minute of the night', nightMinutes)
    return `${minute % 60} ${Math.floor(minute / 60)}`
  }
  switch (runTrigger) {
    case 'EVERY_15_MIN':
      return '*/15 * * * *'
    case 'EVERY_30_MIN':
      return '*/30 * * * *'
    case 'EVERY_HOUR':
      return '0 * * * *'
    case 'EVERY_3_HOURS':
      return '0 */3 * * *'
    case 'EVERY_DAY_0AM':
      return '0 0 * * *'
    case 'EVERY_DAY_2AM':
      return '0 2 * * *'
    case 'EVERY_NIGHT_RANDOM':
      return `${randomNightTime()} * * *`
    case 'EVERY_WEEKDAY':
      return '0 0 * * 1-5'
    case 'EVERY_SATURDAY':
      return '0 0 * * 6'
    case 'EVERY_SATURDAY_NIGHT_RANDOM':
      return `${randomNightTime()} * * 6`
    case 'EVERY_MONTH':
      return '0 0 1 * *'
    case 'EVERY_MONTH_RANDOM':
      // Days 1 to 28, because every month has them.
      return `${randomNightTime()} ${1 + computeStableNumber(uid, 'day of the month', 28)} * *`
    case 'CUSTOM':
      return cronExpression === null ? undefined : removeSeconds(cronExpression)
    case 'NEVER':
      return undefined
  }
}

function removeSeconds(expression: string): string {
  const fields = expression.trim().split(/\s+/)
  return fields.slice(fields.length === 6 ? 1 : 0).join(' ')
}

/**
 * Hashes a uid to an integer from 0 to `limit - 1`. Values are evenly distributed, and always the same for the same uid
 * and purpose.
 */
export function computeStableNumber(uid: string, purpose: string, limit: number): number {
  return createHash('sha256').update(`${purpose} ${uid}`).digest().readUIntBE(0, 6) % limit
}
