import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { readInPlace } from './read-whole-file.ts'
import { readByReference } from './reference-reader.ts'

const covid = new URL('../../../../../shared/data/covid-19/', import.meta.url)
const files = existsSync(covid) ? readdirSync(covid).filter((name) => name.endsWith('.csv')) : []

describe('public data', () => {
  if (files.length === 0) {
    console.info('No ../shared/data/covid-19 beside the repository: its files are not compared.')
    it.skip('is read like the reference reader reads it (../shared/data/covid-19 is missing)', () => {})
    return
  }
  it.each(files)('is read like the reference reader reads it: %s', (name) => {
    const path = new URL(name, covid).pathname
    const whole = readInPlace(path, {}, defaultDelimitedLimits)
    const expected = readByReference(readFileSync(path), { delimiter: ',', headerRow: true, recordBytes: 1e6 })
    if ('problem' in expected || 'problem' in whole) throw new Error('It could not be read')
    expect(whole.rows.length).toBeGreaterThan(100)
    expect(whole.rows).toEqual(expected.rows)
    expect(whole.rejected).toEqual([])
  })
})
