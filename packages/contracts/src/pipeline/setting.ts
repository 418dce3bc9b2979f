import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { defineRequestBody, SingleLineText, Timestamp, Uid } from '../field-types.ts'

export const settingKeys = [
  'ALERT_EMAIL',
  'DEFAULT_ACCESS_LEVEL',
  'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES',
  'RETAIN_TEMP_FILES',
  'THEME',
] as const
export type SettingKey = (typeof settingKeys)[number]

const SettingValue = Type.String({
  maxLength: 5000,
  description:
    'ALERT_EMAIL: addresses, with commas between them, or empty; the entry WARNING adds mails about runs that end with a warning, the entry NO_SUCCESS_24_HOURS mails about schedules without a successful run for that number of hours (1 to 8760). DEFAULT_ACCESS_LEVEL: PUBLIC or PRIVATE. DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: CLEAN_UP or RETAIN. RETAIN_TEMP_FILES: true or false. THEME: a name of letters, digits, _ and -, or empty.',
  examples: ['PRIVATE'],
})

export const SettingBody = defineContract(
  'SettingBody',
  defineRequestBody(
    {
      key: Type.Optional(
        Type.Enum([...settingKeys], { description: 'If present, it must equal the key in the path.' }),
      ),
      value: SettingValue,
      client: Type.Optional({ ...SingleLineText, description: 'If present, it must be the client of the caller.' }),
      lastUpdated: Type.Optional({
        ...Timestamp,
        description:
          'The `lastUpdated` of the setting that you read. If the setting has changed since then, `client` is ignored instead of checked.',
      }),
    },
    ['warning'],
  ),
)

export type SettingBody = TypeOf<typeof SettingBody>

export const Setting = defineContract(
  'Setting',
  Type.Object(
    {
      id: Type.Optional({ ...Uid, description: 'Absent if the value is the default.' }),
      created: Type.Optional(Timestamp),
      lastUpdated: Type.Optional(Timestamp),
      client: SingleLineText,
      key: Type.Enum([...settingKeys]),
      value: SettingValue,
      warning: Type.Optional({
        ...SingleLineText,
        description: 'Why the value has no effect, such as alert addresses on an installation without a mail server.',
      }),
    },
    noUnknownFields,
  ),
)

export type Setting = TypeOf<typeof Setting>
