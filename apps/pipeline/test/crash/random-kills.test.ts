import { randomBytes } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { killAtRandom } from './random/kill-at-random.ts'

/** SLUICE_KILLS=5000 npm test -- apps/pipeline/random-kills; SLUICE_SEED=… has the same worker die at the same place. */
const kills = Number(process.env['SLUICE_KILLS'] ?? 200)
const seed = process.env['SLUICE_SEED'] ?? randomBytes(4).toString('hex')

it(
  `${kills} workers are killed, and every table is one whole run all the while`,
  async () => {
    const tell = (line: string) => void process.stdout.write(`random kills: ${line}\n`)
    tell(`SLUICE_SEED=${seed}`)
    const { wrong, ...story } = await killAtRandom({ kills, seed, tell })
    tell(JSON.stringify(story))
    expect({ seed, wrong }).toEqual({ seed, wrong: [] })
    expect(story.kills).toBeGreaterThanOrEqual(kills)
  },
  120_000 + kills * 2_000,
)
