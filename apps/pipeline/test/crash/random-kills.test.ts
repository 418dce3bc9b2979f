import { randomBytes } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { killAtRandom } from './random/kill-at-random.ts'

/** SLUICE_KILLS=5000 npm test -- apps/pipeline/random-kills; SLUICE_SEED=… has the same worker die at the same place. */
const kills = Number(process.env['SLUICE_KILLS'] ?? 200)
const seed = process.env['SLUICE_SEED'] ?? randomBytes(4).toString('hex')

it(
  `${kills} workers are killed, and every table is one whole run all the while`,
  async () => {
    process.stdout.write(`random kills: SLUICE_SEED=${seed}\n`)
    const { wrong, ...story } = await killAtRandom({ kills, seed })
    process.stdout.write(`random kills: ${JSON.stringify(story)}\n`)
    expect({ seed, wrong }).toEqual({ seed, wrong: [] })
    expect(story.kills).toBeGreaterThanOrEqual(kills)
  },
  120_000 + kills * 2_000,
)
