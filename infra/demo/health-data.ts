import { writeFile } from 'node:fs/promises'
import {
  comments,
  districts,
  facilityKinds,
  facilityNames,
  indicators,
  regions,
  type Indicator,
} from './health-names.ts'

export interface HealthDataOptions {
  /** Records after the header. */
  rows: number
  /** The same seed and rows give the same bytes. */
  seed?: number
  signal?: AbortSignal
}

const months = 36
const firstYear = 2023
const chunkLength = 256 * 1024

const header =
  'period,region,district,facility_code,facility_name,indicator,value,completeness_percent,submitted_at,late,comment\n'

/**
 * Returns monthly reports of health facilities as CSV, with leading zeros, quoted commas, quotation marks, line breaks,
 * accents and empty values. Each combination of facility, month and indicator occurs once; more rows have more
 * facilities.
 */
export function* healthData({ rows, seed = 1 }: Omit<HealthDataOptions, 'signal'>): Generator<string> {
  const random = randomNumbers(seed)
  const facilities = createFacilities(rows, random)
  let chunk = header
  let left = rows
  for (let month = 0; month < months && left > 0; month++) {
    const period = describePeriod(month)
    for (const indicator of reported) {
      for (const facility of facilities) {
        if (left-- <= 0) break
        chunk += `${period.start},${facility.fields},${indicator.quoted},`
        chunk += formatReportFields(indicator, facility.size, period, random)
        if (chunk.length > chunkLength) {
          yield chunk
          chunk = ''
        }
      }
    }
  }
  yield chunk
}

/** Writes the data set to a file in pieces. Rejects with the signal's reason or the error of the file system. */
export async function writeHealthData(file: string, { rows, seed, signal }: HealthDataOptions): Promise<void> {
  await writeFile(file, healthData({ rows, seed }), { signal })
}

interface Period {
  /** `2023-01-01` */
  start: string
  /** `2023-02-`: reports are sent in the month after. */
  following: string
  /** -1 in the driest month, 1 in the wettest. */
  rain: number
}

function describePeriod(month: number): Period {
  const at = (index: number) => `${firstYear + Math.floor(index / 12)}-${twoDigits((index % 12) + 1)}-`
  return { start: `${at(month)}01`, following: at(month + 1), rain: Math.sin((month / 12) * 2 * Math.PI) }
}

const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const twoDigits = (number: number) => (number < 10 ? `0${number}` : `${number}`)

const reported = indicators.map((indicator) => ({ ...indicator, quoted: quoted(indicator.name) }))
const remarks = comments.map(quoted)

function createFacilities(rows: number, random: () => number) {
  const count = Math.ceil(rows / (months * reported.length))
  return Array.from({ length: count }, (_, index) => {
    const pick = (from: readonly string[]) => from[Math.floor(random() * from.length)] ?? ''
    const code = String(1000 + index * 7).padStart(7, '0')
    const name = `${pick(facilityKinds)} ${pick(facilityNames)}`
    const fields = [pick(regions), pick(districts), code, name].map(quoted).join(',')
    return { fields, size: 0.3 + random() * random() * 3 }
  })
}

/** Returns the fields that differ between reports: value, completeness, time of submission, lateness and comment. */
function formatReportFields(
  { usual, season }: Indicator,
  size: number,
  { following, rain }: Period,
  random: () => number,
) {
  const missing = random() < 0.015
  const value = missing ? '' : Math.round(usual * size * (1 + (season * rain) / 2) * (0.7 + random() * 0.6))
  const completeness = missing ? '' : (100 - random() * random() * 60).toFixed(2)
  const day = 1 + Math.floor(random() * random() * 28)
  const second = Math.floor(random() * 86_400)
  const time = `${twoDigits(Math.floor(second / 3600))}:${twoDigits(Math.floor(second / 60) % 60)}:${twoDigits(second % 60)}`
  const remark = random() < 0.04 ? remarks[Math.floor(random() * remarks.length)] : ''
  return `${value},${completeness},${following}${twoDigits(day)}T${time}Z,${day > 15},${remark}\n`
}

/** mulberry32: numbers from 0 up to 1, the same for the same seed on every machine. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
