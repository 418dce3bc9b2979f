import { problems } from '@sluice/http-server'

const earliest = Date.UTC(1970, 0, 1)
const latest = Date.UTC(2999, 11, 31)

/** Parses a time of a request. Throws 400 for a time in a year that the database or the time zones do not have. */
export function parseTime(pointer: string, text: string): Date
export function parseTime(pointer: string, text: string | undefined): Date | undefined
export function parseTime(pointer: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (time.getTime() >= earliest && time.getTime() <= latest) return time
  throw problems.malformed([{ pointer, detail: 'must be a time between the years 1970 and 2999' }])
}
