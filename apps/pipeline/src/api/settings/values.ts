import type { SettingKey } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { mailableAddress } from '@sluice/mail/settings'
import { formatAlertSetting, mostNoSuccessHours, parseAlertSetting } from '../../alert-setting.ts'

const mostAddresses = 50
const isAddressLike = (entry: string) => /^[^\s@,;:<>"()[\]\\\p{Cc}]+@[\p{L}\p{M}\p{N}.-]+$/u.test(entry)

const oneOf =
  (...values: string[]) =>
  (value: string): string => {
    if (!values.includes(value)) throw refused(`${shown(value)} is neither ${values.join(' nor ')}.`)
    return value
  }

/** What each setting may be, as it is kept. Throws the problem of one that it may not. */
export const settingValue: Readonly<Record<SettingKey, (value: string) => string>> = {
  ALERT_EMAIL: alertEmail,
  DEFAULT_ACCESS_LEVEL: oneOf('PUBLIC', 'PRIVATE'),
  DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: oneOf('CLEAN_UP', 'RETAIN'),
  RETAIN_TEMP_FILES: oneOf('true', 'false'),
  THEME: theme,
}

function alertEmail(value: string): string {
  if (value.trim() === '') return ''
  const empty = value.split(',').some((part) => part.trim() === '')
  if (empty) throw refused('There is an empty entry between two commas, or before or after one. Remove the comma.')
  const setting = parseAlertSetting(value)
  const wrong = setting.addresses.find((part) => !isAddressLike(part))
  if (wrong !== undefined)
    throw refused(
      `${shown(wrong)} is not an e-mail address. Put commas between several; besides addresses there are WARNING and NO_SUCCESS_24_HOURS (any number of hours).`,
    )
  const unmailable = setting.addresses.find((part) => mailableAddress(part) === undefined)
  if (unmailable !== undefined)
    throw refused(
      `Mail cannot be sent to ${shown(unmailable)}: use up to 64 unaccented letters, digits and signs before the @, and a valid domain after it.`,
    )
  const { noSuccessHours: hours } = setting
  if (hours !== undefined && (hours < 1 || hours > mostNoSuccessHours))
    throw refused(`NO_SUCCESS_${hours}_HOURS: the number of hours is from 1 to ${mostNoSuccessHours}.`)
  if (setting.addresses.length === 0) throw refused('Nobody would be mailed. Add an address.')
  if (new Set(setting.addresses).size > mostAddresses)
    throw refused(`At most ${mostAddresses} addresses are written to.`)
  return formatAlertSetting(setting)
}

function theme(value: string): string {
  if (!/^[\w-]{0,64}$/.test(value))
    throw refused('A theme is named by up to 64 letters, digits, underscores and hyphens.')
  return value
}

const shown = (value: string) => JSON.stringify(value.slice(0, 80))

const refused = (detail: string) => problems.refused('/value', detail)
