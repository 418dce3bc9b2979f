import type { SettingKey } from '@sluice/contracts'
import type { Kysely } from 'kysely'
import type { DB } from './database.ts'

/** What holds for an organisation that changed nothing. */
export const settingDefaults: Readonly<Record<SettingKey, string>> = {
  ALERT_EMAIL: '',
  DEFAULT_ACCESS_LEVEL: 'PRIVATE',
  DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: 'CLEAN_UP',
  RETAIN_TEMP_FILES: 'false',
  THEME: '',
}

/** The value of a client's setting, or its default. */
export async function settingOf(db: Kysely<DB>, client: string, key: SettingKey): Promise<string> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('client', '=', client)
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.value ?? settingDefaults[key]
}

/** What becomes of ALERT_EMAIL where the operator has set up no mail server. */
export const noMailServer =
  'Nobody is mailed for now: this service has no mail server. Whoever runs it sets SMTP_URL, for the API and the workers.'

/** Who is mailed about what. */
export const alertSetting = async (db: Kysely<DB>, client: string): Promise<AlertSetting> =>
  parseAlertSetting(await settingOf(db, client, 'ALERT_EMAIL'))

/** What the value of ALERT_EMAIL asks for. */
interface AlertSetting {
  addresses: string[]
  /** Runs that end with a warning are mailed too. */
  warnings: boolean
  /** Hours without a successful run after which a mail is sent. */
  noSuccessHours: number | undefined
}

/** A year. */
export const mostNoSuccessHours = 8_760

const noSuccess = /^NO_SUCCESS_(\d{1,5})_HOURS$/i

/** Splits a stored value. Every entry that is not one of the words is an address. */
export function parseAlertSetting(value: string): AlertSetting {
  const setting: AlertSetting = { addresses: [], warnings: false, noSuccessHours: undefined }
  for (const entry of value.split(',').map((part) => part.trim())) {
    const hours = noSuccess.exec(entry)?.[1]
    if (hours !== undefined) setting.noSuccessHours = Number(hours)
    else if (entry.toUpperCase() === 'WARNING') setting.warnings = true
    else if (entry !== '') setting.addresses.push(entry)
  }
  return setting
}

/** The value as it is stored: addresses first, each once. */
export function formatAlertSetting({ addresses, warnings, noSuccessHours }: AlertSetting): string {
  return [
    ...new Set(addresses),
    ...(warnings ? ['WARNING'] : []),
    ...(noSuccessHours === undefined ? [] : [`NO_SUCCESS_${noSuccessHours}_HOURS`]),
  ].join(',')
}
