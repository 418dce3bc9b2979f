import { expect, it } from '@jest/globals'
import { generateSeed, findTimeStep } from './totp.ts'

/** "12345678901234567890", the seed of RFC 6238, appendix B. The codes there have two more digits. */
const seed = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

it.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('the code of RFC 6238 for second %i is accepted at most one step early or late', (second, code) => {
  const step = Math.floor(second / 30)
  for (const offset of [-30, 0, 30]) expect(findTimeStep(code, seed, (second + offset) * 1000)).toBe(step)
  for (const offset of [-60, 60]) expect(findTimeStep(code, seed, (second + offset) * 1000)).toBeUndefined()
})

it.each(['', '12345', '1234567', 'abcdef', '\u0661\u0662\u0663\u0664\u0665\u0666'])(
  'the code %j is rejected',
  (code) => {
    expect(findTimeStep(code, seed, 59_000)).toBeUndefined()
  },
)

it('seeds are unique and have 160 bits', () => {
  const seeds = Array.from({ length: 50 }, generateSeed)
  for (const generated of seeds) expect(generated).toMatch(/^[A-Z2-7]{32}$/)
  expect(new Set(seeds).size).toBe(50)
})
