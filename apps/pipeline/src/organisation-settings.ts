import type { SettingKey } from '@sluice/contracts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { DB } from './database.ts'

/** The default value of each setting of an organisation. */
export const settingDefaults: Readonly<Record<SettingKey, string>> = {
  ALERT_EMAIL: '',
  DEFAULT_ACCESS_LEVEL: 'PRIVATE',
  DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: 'CLEAN_UP',
  RETAIN_TEMP_FILES: 'false',
  THEME: '',
}

/** Returns the value of an organisation's setting, or its default. */
export async function readSetting(db: Kysely<DB>, client: string, key: SettingKey): Promise<string> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('client', '=', client)
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.value ?? settingDefaults[key]
}

/** SQL of the stored value of a client's setting; null if it has its default. */
export const selectSetting = (client: string | RawBuilder<unknown>, key: SettingKey): RawBuilder<string | null> =>
  sql`(select value from settings where client = ${client} and key = ${key})`

/** The warning when ALERT_EMAIL has addresses and no mail server is configured. */
export const noMailServer =
  'No email is sent, because this service has no mail server. Ask the operator to set SMTP_URL for the API and the workers.'

export const readAlertSetting = async (db: Kysely<DB>, client: string): Promise<AlertSetting> =>
  parseAlertSetting(await readSetting(db, client, 'ALERT_EMAIL'))

/** The parsed value of the setting ALERT_EMAIL. */
interface AlertSetting {
  addresses: string[]
  /** Whether runs that end with a warning cause emails. */
  warnings: boolean
  /** Hours without a successful run after which an email is sent. */
  noSuccessHours: number | undefined
}

/** One year in hours. */
export const maxNoSuccessHours = 8_760

const noSuccessPattern = /^NO_SUCCESS_(\d{1,5})_HOURS$/i

/** Parses a stored value. Every entry that is not a keyword counts as an email address. */
export function parseAlertSetting(value: string): AlertSetting {
  const setting: AlertSetting = { addresses: [], warnings: false, noSuccessHours: undefined }
  for (const entry of value.split(',').map((text) => text.trim())) {
    const hours = noSuccessPattern.exec(entry)?.[1]
    if (hours !== undefined) setting.noSuccessHours = Number(hours)
    else if (entry.toUpperCase() === 'WARNING') setting.warnings = true
    else if (entry !== '') setting.addresses.push(entry)
  }
  return setting
}

/** Formats the setting for storage: distinct addresses, then keywords. */
export function formatAlertSetting({ addresses, warnings, noSuccessHours }: AlertSetting): string {
  return [
    ...new Set(addresses),
    ...(warnings ? ['WARNING'] : []),
    ...(noSuccessHours === undefined ? [] : [`NO_SUCCESS_${noSuccessHours}_HOURS`]),
  ].join(',')
}
