import { Type } from 'typebox'

export const runTriggers = [
  'EVERY_15_MIN',
  'EVERY_30_MIN',
  'EVERY_HOUR',
  'EVERY_3_HOURS',
  'EVERY_DAY_0AM',
  'EVERY_DAY_2AM',
  'EVERY_NIGHT_RANDOM',
  'EVERY_WEEKDAY',
  'EVERY_SATURDAY',
  'EVERY_SATURDAY_NIGHT_RANDOM',
  'EVERY_MONTH',
  'EVERY_MONTH_RANDOM',
  'CUSTOM',
  'NEVER',
] as const

export type RunTrigger = (typeof runTriggers)[number]

/** What every scheduled object takes. */
export const scheduled = {
  disabled: Type.Boolean(),
  runTrigger: Type.Enum([...runTriggers]),
  cronExpression: Type.Optional(Type.String({ maxLength: 120 })),
}
