import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { healthData, writeHealthData } from './health-data.ts'

/** Parses the CSV that the generator writes (RFC 4180). */
function parseCsv(csv: string): string[][] {
  const fields = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g
  const records: string[][] = [[]]
  for (const [, quoted, plain = '', end] of csv.matchAll(fields)) {
    records.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '\n') records.push([])
  }
  records.pop()
  return records
}

const generateAll = (rows: number, seed?: number) =>
  [...healthData({ rows, ...(seed !== undefined && { seed }) })].join('')
const digest = (text: string) => createHash('sha256').update(text).digest('hex')

it('healthData returns the requested number of rows, each with a unique facility, month and indicator', () => {
  const [header, ...rows] = parseCsv(generateAll(20_000))
  expect(header).toHaveLength(11)
  expect(rows).toHaveLength(20_000)
  expect(new Set(rows.map((row) => row.length))).toEqual(new Set([11]))
  expect(new Set(rows.map(([period, , , code, , indicator]) => `${period} ${code} ${indicator}`)).size).toBe(20_000)
})

it('healthData contains leading zeros, quotes, commas, accents, line breaks and empty values', () => {
  const rows = parseCsv(generateAll(20_000)).slice(1)
  const columns = (index: number) => rows.map((row) => row[index] ?? '')
  expect(columns(3).every((code) => /^0\d{6}$/.test(code))).toBe(true)
  expect(columns(4).some((name) => name.includes('"') && name.includes(' '))).toBe(true)
  expect(columns(4).some((name) => name.includes(','))).toBe(true)
  expect(columns(1).some((region) => /[à-ÿ]/.test(region))).toBe(true)
  expect(columns(10).some((comment) => comment.includes('\n'))).toBe(true)
  expect(columns(6).filter((value) => value === '').length).toBeGreaterThan(100)
  expect(columns(6).every((value) => /^\d*$/.test(value))).toBe(true)
  expect(columns(7).every((value) => /^(\d{1,3}\.\d\d)?$/.test(value) && Number(value) <= 100)).toBe(true)
  expect(columns(8).every((time) => new Date(time).toISOString().replace('.000', '') === time)).toBe(true)
})

it('healthData returns the same rows for the same seed and other rows for another seed', () => {
  expect(digest(generateAll(3_000))).toBe(digest(generateAll(3_000, 1)))
  expect(digest(generateAll(3_000, 2))).not.toBe(digest(generateAll(3_000)))
})

it('healthData yields chunks below 300,000 characters, so any number of rows fits into memory', () => {
  const lengths = [...healthData({ rows: 30_000 })].map(({ length }) => length)
  expect(lengths.length).toBeGreaterThan(10)
  expect(Math.max(...lengths)).toBeLessThan(300_000)
})

it('writeHealthData writes the rows to a file, and rejects when its signal aborts', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-health-'))
  try {
    await writeHealthData(join(folder, 'a.csv'), { rows: 1_000 })
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe(generateAll(1_000))
    const stopped = writeHealthData(join(folder, 'b.csv'), { rows: 50_000_000, signal: AbortSignal.timeout(20) })
    await expect(stopped).rejects.toThrow(/abort/i)
  } finally {
    await rm(folder, { recursive: true })
  }
})
