import { expect, it } from '@jest/globals'
import { generateSeed, findTimeStep } from './totp.ts'

/** "12345678901234567890", the seed of RFC 6238's appendix B, whose codes have two digits more. */
const seed = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

it.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('the code at second %i is that of RFC 6238, one step early and late too', (second, code) => {
  const step = Math.floor(second / 30)
  for (const off of [-30, 0, 30]) expect(findTimeStep(code, seed, (second + off) * 1000)).toBe(step)
  for (const off of [-60, 60]) expect(findTimeStep(code, seed, (second + off) * 1000)).toBeUndefined()
})

it.each(['', '12345', '1234567', 'abcdef', '\u0661\u0662\u0663\u0664\u0665\u0666'])(
  '%j is no code of any step',
  (code) => {
    expect(findTimeStep(code, seed, 59_000)).toBeUndefined()
  },
)

it('seeds are 160 bits, each its own', () => {
  const seeds = Array.from({ length: 50 }, generateSeed)
  for (const each of seeds) expect(each).toMatch(/^[A-Z2-7]{32}$/)
  expect(new Set(seeds).size).toBe(50)
})
