import { expect, it } from '@jest/globals'
import { compareOne } from './fuzz.ts'
import { inputFolder } from './read-whole.ts'

const folder = inputFolder()

const cases = Number(process.env['SLUICE_FUZZ_CASES'] ?? 100_000)
const firstSeed = Number(process.env['SLUICE_FUZZ_SEED'] ?? 1)

it(`reads what a slow reader reads, from ${cases} random files as of seed ${firstSeed}`, () => {
  for (let seed = firstSeed; seed < firstSeed + cases; seed++) compareOne(seed, folder)
  expect(cases).toBeGreaterThan(0)
}, 86_400_000)

/** What random files found in more cases than every run takes. */
it.each([1_157_940])('reads what a slow reader reads, as of seed %d', (seed) => {
  compareOne(seed, folder)
})
