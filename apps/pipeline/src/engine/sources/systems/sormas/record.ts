import { isExact } from '../tables/exact-numbers.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

/** What all records have, and codes that are texts whatever they look like. */
export const columns: KnownColumn[] = [
  { path: 'uuid', dataType: 'TEXT' },
  { path: 'creationDate', dataType: 'TIMESTAMPTZ' },
  { path: 'changeDate', dataType: 'TIMESTAMPTZ' },
  ...['externalID', 'externalToken', 'internalToken', 'epidNumber', 'caseIdExternalSystem', 'labSampleID'].map(
    (path): KnownColumn => ({ path, dataType: 'TEXT' }),
  ),
]

/** Milliseconds of 1973 and 2100: no count of an outbreak gets there. */
const [earliest, latest] = [100_000_000_000, 4_102_444_800_000]

/** Moments are milliseconds on the wire, though the description of the API says that they are texts; either is read. */
export function millisecondsOf(value: unknown): number | undefined {
  const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isFinite(time) ? time : undefined
}

/** A record whose moments are written as such, wherever they are. */
export function shaped(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(shaped)
  if (typeof record !== 'object' || record === null || isExact(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, valueOf(key, value)]))
}

function valueOf(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return shaped(value)
  const moment = value >= earliest && value < latest
  const early = /date(time)?$/i.test(key) && Math.abs(value) >= 100_000 && value < latest
  return Number.isInteger(value) && (moment || early) ? new Date(value).toISOString() : value
}
