import { expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { compareOne } from './compare-with-reference.ts'

const cases = drawCount({ short: 10_000, long: 200_000 })
const firstSeed = Number(process.env['SLUICE_FUZZ_SEED'] ?? 1)

it(`reads what a reference reader reads, from ${cases} random files as of seed ${firstSeed}`, () => {
  for (let seed = firstSeed; seed < firstSeed + cases; seed++) compareOne(seed)
  expect(cases).toBeGreaterThan(0)
}, 86_400_000)

/** Seeds of failures that longer runs found. */
it.each([1_157_940])('reads what a reference reader reads, as of seed %d', (seed) => {
  compareOne(seed)
})
