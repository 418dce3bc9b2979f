/** What the value of ALERT_EMAIL asks for. */
export interface AlertSetting {
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
