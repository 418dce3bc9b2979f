import type { SettingKey } from '@sluice/contracts'
import type { Kysely } from 'kysely'
import { type AlertSetting, parseAlertSetting } from './alert-setting.ts'
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
