const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const plural = (count: number, noun: string) => `${grouped.format(count)} ${noun}${count === 1 ? '' : 's'}`

export const rowsText = (rows: number): string => plural(rows, 'row')

/** `26.5 MB`: powers of a thousand, as disks and networks are sold. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return power === 0 ? plural(bytes, 'byte') : `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`
}

/** `0.42 s`, `12.3 s`, `4 min 05 s`. */
export function secondsText(milliseconds: number): string {
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(2)} s`
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
}

/** Returns the amount per second. Counts less than a millisecond as one. */
export const rate = (amount: number, milliseconds: number): number => (amount * 1000) / Math.max(1, milliseconds)

export const rowRate = (rows: number, milliseconds: number): string =>
  `${grouped.format(rate(rows, milliseconds))} rows/s`

export const byteRate = (bytes: number, milliseconds: number): string =>
  `${(rate(bytes, milliseconds) / 1e6).toFixed(1)} MB/s`
