import type { SettingKey } from '@sluice/contracts'
import { problems } from '@sluice/http'

const mostAddresses = 50
const address = /^[^\s@,;:<>"()[\]\\\p{Cc}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?$/u

const oneOf =
  (...values: string[]) =>
  (value: string): string => {
    if (!values.includes(value)) throw refused(`${shown(value)} is neither ${values.join(' nor ')}.`)
    return value
  }

/** What each setting may be, as it is kept. Throws the problem of one that it may not. */
export const settingValue: Readonly<Record<SettingKey, (value: string) => string>> = {
  ALERT_EMAIL: addresses,
  DEFAULT_ACCESS_LEVEL: oneOf('PUBLIC', 'PRIVATE'),
  DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: oneOf('CLEAN_UP', 'RETAIN'),
  RETAIN_TEMP_FILES: oneOf('true', 'false'),
  THEME: theme,
}

function addresses(value: string): string {
  const list = value.split(',').map((part) => part.trim())
  if (list.length === 1 && list[0] === '') return ''
  const wrong = list.find((part) => !address.test(part))
  if (wrong !== undefined) throw refused(`${shown(wrong)} is not an e-mail address. Put commas between several.`)
  const once = [...new Set(list)]
  if (once.length > mostAddresses) throw refused(`At most ${mostAddresses} addresses are written to.`)
  return once.join(',')
}

function theme(value: string): string {
  if (!/^[\w-]{0,64}$/.test(value))
    throw refused('A theme is named by up to 64 letters, digits, underscores and hyphens.')
  return value
}

const shown = (value: string) => JSON.stringify(value.slice(0, 80))

const refused = (detail: string) => problems.refused('/value', detail)
