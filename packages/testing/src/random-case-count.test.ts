import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { drawCount } from './random-case-count.ts'

const variables = ['SLUICE_LONG', 'SLUICE_FUZZ_CASES', 'SLUICE_KILLS']
const original = variables.map((name) => [name, process.env[name]] as const)
const clear = () => variables.forEach((name) => delete process.env[name])

describe('drawCount', () => {
  beforeEach(clear)
  afterEach(() => {
    clear()
    for (const [name, value] of original) if (value !== undefined) process.env[name] = value
  })

  const counts = { short: 40, long: 2_000 }

  it('returns the short count by default and the long count with SLUICE_LONG=1', () => {
    expect(drawCount(counts)).toBe(40)
    process.env['SLUICE_LONG'] = '1'
    expect(drawCount(counts)).toBe(2_000)
  })

  it('returns the value of the environment variable of the test, with and without SLUICE_LONG', () => {
    process.env['SLUICE_KILLS'] = '7'
    expect([drawCount(counts), drawCount({ ...counts, variable: 'SLUICE_KILLS' })]).toEqual([40, 7])
    process.env['SLUICE_LONG'] = '1'
    process.env['SLUICE_FUZZ_CASES'] = '3'
    expect([drawCount(counts), drawCount({ ...counts, variable: 'SLUICE_KILLS' })]).toEqual([3, 7])
  })

  it.each(['0', '-1', '1.5', 'many'])('throws for the value %s', (value) => {
    process.env['SLUICE_FUZZ_CASES'] = value
    expect(() => drawCount(counts)).toThrow(`SLUICE_FUZZ_CASES must be a positive integer, but is "${value}".`)
  })
})
