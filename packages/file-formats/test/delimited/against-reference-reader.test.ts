import { expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { compareOne } from './compare-with-reference.ts'

const cases = drawCount({ short: 10_000, long: 200_000 })
const firstSeed = Number(process.env['SLUICE_FUZZ_SEED'] ?? 1)

it(`reads ${cases} random files like the reference reader, from seed ${firstSeed} on`, () => {
  for (let seed = firstSeed; seed < firstSeed + cases; seed++) compareOne(seed)
  expect(cases).toBeGreaterThan(0)
}, 86_400_000)

/** Seeds of failures that longer runs found. */
it.each([1_157_940])('reads a random file like the reference reader, for seed %d', (seed) => {
  compareOne(seed)
})
