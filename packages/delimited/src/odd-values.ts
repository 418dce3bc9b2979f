import type { DataType } from '@sluice/contracts'
import { givenTypes, tellDialect } from './told.ts'
import { SeenValues } from './column-state.ts'
import type { ColumnType } from './column-type.ts'
import type { Dialect } from './dialect/dialect.ts'
import { fieldText } from './reject.ts'
import { placeFields } from './field-places.ts'
import type { Limits } from './limits.ts'
import { type Machine, OBSERVE, TAKEN } from './machine.ts'
import type { Records } from './records.ts'
import { rowsOf } from './rows.ts'
import type { TextSource } from './text-file.ts'

/** Why a column is TEXT although nearly all of its values have a narrower type. */
export interface OddValue {
  /** The index of the column. */
  column: number
  label: string
  /** The type of the other values. */
  dataType: Extract<DataType, 'BOOLEAN' | 'DECIMAL' | 'DATE' | 'TIMESTAMP'>
  /** The first value that does not have this type, cut to 100 characters. */
  value: string
  /** The physical line in which its record begins, from 1. */
  line: number
}

/** Records that decide whether a column is nearly of one type, and the values and the share of them that it takes. */
const sampleRecords = 1_000
const leastValues = 10
const share = 0.9
/** Bytes from which on an odd value is not looked for any more. */
const mostBytes = 64 * 1024 * 1024
const longestValue = 100

const families = ['BOOLEAN', 'DECIMAL', 'DATE', 'TIMESTAMP'] as const
type Family = (typeof families)[number]

interface Watched {
  column: number
  seen: SeenValues
  values: number
  counts: Record<Family, number>
  /** The first value outside each family. */
  odd: Partial<Record<Family, { value: string; line: number }>>
  /** Spellings of days that all values so far can have. */
  spellings: number
  /** Whether a value is a number with leading zeros: codes are meant to be text. */
  hasCodes: boolean
}

/**
 * Finds the columns of a file that are TEXT because of few values, with the first of these. Call it after the rows were read: the
 * machine forgets what it has seen. Reads the beginning of the file, and more only for columns that have an odd value further down.
 */
export function findOddValues(
  machine: Machine,
  file: TextSource,
  dialect: Dialect,
  limits: Limits,
  columns: readonly ColumnType[],
): OddValue[] {
  const given = givenTypes(dialect)
  let watched = columns.flatMap(({ dataType, evidence }, column) =>
    dataType === 'TEXT' && !evidence && !given[column] ? [watch(machine, column)] : [],
  )
  if (watched.length === 0) return []
  tellDialect(machine, dialect, limits.chunkBytes)
  const { records, reader } = rowsOf(file, dialect, limits, machine.window)
  const start = reader.position
  for (let count = 1; records.advance(); count++) {
    if (records.fault === undefined) {
      for (const { seen } of watched) seen.forget()
      const original = placeFields(machine, records)
      const outcome = machine.run.take(records.next - records.from, OBSERVE)
      if (original) records.bytes.set(original, records.from)
      if (outcome === TAKEN) for (const one of watched) note(one, records)
    }
    if (count < sampleRecords) continue
    if (count === sampleRecords) watched = watched.filter((one) => mainFamily(one) !== undefined)
    if (watched.every(isDecided) || reader.position - start > mostBytes) break
  }
  return watched.flatMap((one) => {
    const dataType = mainFamily(one)
    const odd = dataType && one.odd[dataType]
    return odd && !one.hasCodes ? [{ column: one.column, label: dialect.labels[one.column]!, dataType, ...odd }] : []
  })
}

const words: Record<Family, string> = {
  BOOLEAN: 'true or false',
  DECIMAL: 'numbers',
  DATE: 'dates',
  TIMESTAMP: 'dates with a time',
}

/** Says which value made a column TEXT. */
export const describeOddValue = ({ label, dataType, value, line }: OddValue): string =>
  `Column "${label}" is TEXT because of "${value}" in line ${line}; nearly all of its values are ${words[dataType]}.`

const watch = (machine: Machine, column: number): Watched => ({
  column,
  seen: new SeenValues(machine, column),
  values: 0,
  counts: { BOOLEAN: 0, DECIMAL: 0, DATE: 0, TIMESTAMP: 0 },
  odd: {},
  spellings: 0xff,
  hasCodes: false,
})

function note(one: Watched, records: Records): void {
  const { kinds, spellings } = one.seen
  if (kinds === 0) return
  one.values++
  const family = familyOf(kinds)
  const isTime = family === 'DATE' || family === 'TIMESTAMP'
  // A day in another order than the days before is as odd as no day.
  const fits = family !== undefined && (!isTime || (one.spellings & spellings) !== 0)
  if (fits) one.counts[family]++
  if (fits && isTime) one.spellings &= spellings
  const others = families.filter((other) => (!fits || other !== family) && !one.odd[other])
  if (fits && others.length === 0) return
  const text = fieldText(records, one.column)
  if (!fits) one.hasCodes ||= /^(0\d+|\d+E\d+)$/i.test(text)
  for (const other of others) one.odd[other] = { value: text.slice(0, longestValue), line: records.line }
}

/** The scanner's bits of assembly/columns.ts. */
function familyOf(kinds: number): Family | undefined {
  if (kinds === 1) return 'BOOLEAN'
  if ((kinds & ~0x0e) === 0) return 'DECIMAL'
  if (kinds === 0x10) return 'DATE'
  return (kinds & ~0x60) === 0 ? 'TIMESTAMP' : undefined
}

const mainFamily = ({ values, counts }: Watched): Family | undefined =>
  values < leastValues ? undefined : families.find((family) => counts[family] >= values * share)

function isDecided(one: Watched): boolean {
  const family = mainFamily(one)
  return family === undefined || one.odd[family] !== undefined
}
