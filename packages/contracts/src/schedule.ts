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

const intervalField = (description: string) =>
  Type.Optional(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647, description }))

export const scheduleRuleFields = {
  runTrigger: Type.Enum([...runTriggers]),
  cronExpression: Type.Optional(Type.String({ maxLength: 120 })),
  continuousUpdateInterval: intervalField('Minutes between two continuous updates.'),
  fullRefreshInterval: intervalField('Hours between two full refreshes of a continuously updated object.'),
}

const scheduleFields = { disabled: Type.Boolean(), ...scheduleRuleFields }

export const scheduledBody = { ...scheduleFields, continuouslyUpdated: Type.Optional(Type.Boolean()) }

export const scheduledResponse = {
  ...scheduleFields,
  continuouslyUpdated: Type.Boolean(),
  /** The cron expression, with the chosen minute of a random trigger. Absent if the object only runs on request. */
  triggerExpression: Type.Optional(Type.String({ maxLength: 200 })),
  scheduleable: Type.Boolean(),
}

/** Response fields that a body may contain and that are ignored. */
export const scheduledIgnored = ['status', 'triggerExpression', 'scheduleable'] as const
