import { randomBytes } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { killAtRandom } from './random/kill-at-random.ts'

const kills = drawCount({ short: 5, long: 1_000, variable: 'SLUICE_KILLS' })
/** SLUICE_SEED repeats the draws: the same worker dies at the same place. */
const seed = process.env['SLUICE_SEED'] ?? randomBytes(4).toString('hex')

it(
  `every table always holds the rows of exactly one run while ${kills} workers are killed`,
  async () => {
    const tell = (line: string) => void process.stdout.write(`random kills: ${line}\n`)
    tell(`SLUICE_SEED=${seed}`)
    const { wrong, ...story } = await killAtRandom({ kills, seed, tell })
    tell(JSON.stringify(story))
    expect({ seed, wrong }).toEqual({ seed, wrong: [] })
  },
  300_000 + kills * 5_000,
)
