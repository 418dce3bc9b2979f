import type { Generator } from '../load/generator.ts'
import type { Job, Request } from '../load/job.ts'
import type { Contender, Figures, Rounds } from '../in-turns.ts'
import type { Stage } from '../stage.ts'

/** One line of the table. */
export interface Row {
  what: string
  figures: Figures
  /** What it is held against. */
  against?: { name: string; figures: Figures }
  target?: { text: string; met: boolean }
}

/** Everything that runs while it is measured. */
export interface Bench {
  generator: Generator
  rounds: Rounds
  /** One client, 1,000 users. */
  small: Stage
  /** By users of the one client, fewest first; `small` is the first. */
  sizes: Stage[]
  /** 10,000 clients. */
  crowded: Stage
  /** The ports of what Express, pg and oidc-provider do by themselves. */
  handlers: number
  provider: number
  /** Passwords per second that the cores can check. */
  checkPasswords(seconds: number): Promise<number>
}

export const connections = 16
export const json = { 'content-type': 'application/json' }
export const form = { 'content-type': 'application/x-www-form-urlencoded' }
export const bearing = (token: string) => ({ authorization: `Bearer ${token}` })
export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

/** Somebody who asks the same of a port, round after round. */
export const contender = ({ generator }: Bench, job: Omit<Job, 'seconds' | 'warmUp'>): Contender => ({
  async round(seconds) {
    const result = await generator.run({ ...job, seconds, warmUp: 0.5 })
    if (job.chain) job.chain.tokens = result.tokens
    return result
  },
})

export const post = (path: string, headers: Record<string, string>, body: string): Request => ({
  method: 'POST',
  path,
  headers,
  body,
})
