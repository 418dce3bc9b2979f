import type { Generator } from '../load/start-generator.ts'
import type { Job, Request } from '../load/load-job.ts'
import type { Workload, Figures, Rounds } from '../interleaved-rounds.ts'
import type { FilledService } from '../filled-service.ts'

/** A row of the table. */
export interface Row {
  label: string
  figures: Figures
  /** The workload of the comparison. */
  against?: { name: string; figures: Figures }
  target?: { text: string; met: boolean }
}

/** The services and settings that all measures share. */
export interface BenchContext {
  generator: Generator
  rounds: Rounds
  /** A service with one client and the smallest number of users. */
  small: FilledService
  /** Services with one client, in ascending order of users. The first is `small`. */
  sizes: FilledService[]
  /** A service with 10,000 clients. */
  manyClients: FilledService
  /** Ports of the bare implementations: Express with pg, and oidc-provider. */
  handlers: number
  provider: number
  /** Returns the password verifications per second that the cores allow. */
  checkPasswords(seconds: number): Promise<number>
}

export const connections = 16
export const json = { 'content-type': 'application/json' }
export const form = { 'content-type': 'application/x-www-form-urlencoded' }
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

/** Returns a workload that sends the same requests to a port in every round. */
export const createWorkload = ({ generator }: BenchContext, job: Omit<Job, 'seconds' | 'warmUp'>): Workload => ({
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
