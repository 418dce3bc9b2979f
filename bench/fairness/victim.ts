import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { json, createPipeline, type Organisation } from './bench-organisation.ts'

/** Measurements of organisation B: times in milliseconds, rates in bytes per second. */
export interface VictimMeasurements {
  latencies: number[]
  errors: number
  startDelays: number[]
  /** From the request of a load of one row to its end. */
  smallLoads: number[]
  loadRates: number[]
}

export interface Victim {
  small: string
  large: string
}

const largeBytes = 20_000_000

export function generateCsv(bytes: number): Buffer {
  const lines = ['id,name,amount,day']
  for (let size = 0, id = 1; size < bytes; id += 1) {
    lines.push(`${id},Facility ${id % 1000},${(id * 37) % 100_000}.25,2026-0${(id % 9) + 1}-1${id % 9}`)
    size += lines.at(-1)!.length + 1
  }
  return Buffer.from(`${lines.join('\n')}\n`)
}

export async function createVictim(organisation: Organisation): Promise<Victim> {
  const small = await createPipeline(organisation, 'a\n1\n')
  const large = await createPipeline(organisation, generateCsv(largeBytes))
  await runPipeline(organisation, small)
  await runPipeline(organisation, large)
  return { small, large }
}

/**
 * Sends requests one after the other and, in parallel, runs the small and the large pipeline, for this many seconds.
 */
export async function measureVictim(
  organisation: Organisation,
  victim: Victim,
  seconds: number,
): Promise<VictimMeasurements> {
  const measurements: VictimMeasurements = { latencies: [], errors: 0, startDelays: [], smallLoads: [], loadRates: [] }
  const end = performance.now() + seconds * 1_000
  const sendRequests = async () => {
    while (performance.now() < end) {
      await timed(measurements, () => organisation.call('GET', '/data-pipelines'))
      await timed(measurements, () => organisation.call('GET', `/data-pipelines/${victim.small}/data`))
      await timed(measurements, () => organisation.call('GET', '/views'))
      const name = `x${randomBytes(6).toString('hex')}`
      const body = json({ name, permanent: false, providerSchema: 'SQL_DATABASE_D' })
      await timed(measurements, () => organisation.call('POST', '/schemas', body))
      await sleep(50)
    }
  }
  const runPipelines = async () => {
    while (performance.now() < end) {
      const small = await runPipeline(organisation, victim.small)
      measurements.startDelays.push(small.startDelay)
      measurements.smallLoads.push(small.startDelay + small.duration)
      const { startDelay, duration } = await runPipeline(organisation, victim.large)
      measurements.startDelays.push(startDelay)
      measurements.loadRates.push((largeBytes / duration) * 1_000)
      await sleep(500)
    }
  }
  await Promise.all([sendRequests(), runPipelines()])
  return measurements
}

async function timed(measurements: VictimMeasurements, sendRequest: () => Promise<{ status: number }>): Promise<void> {
  const startedAt = performance.now()
  const status = await sendRequest().then(
    (answer) => answer.status,
    () => 599,
  )
  measurements.latencies.push(performance.now() - startedAt)
  if (status >= 500) measurements.errors += 1
}

/** Returns the milliseconds from the request of the run to its start, and from its start to its end. */
async function runPipeline({ call }: Organisation, id: string): Promise<{ startDelay: number; duration: number }> {
  const started = await call('POST', `/data-pipelines/${id}/run`)
  if (started.status !== 202) throw new Error(`A run was not taken: ${started.status} ${JSON.stringify(started.body)}`)
  for (;;) {
    const { body } = await call('GET', `/data-pipelines/${id}/runs?pageSize=1`)
    const [run] = Array.isArray(body) ? body : []
    if (run?.finished) {
      if (run.status !== 'OK') throw new Error(`A run of the measured organisation ended ${run.status}: ${run.message}`)
      const [created, started, finished] = [run.created, run.started, run.finished].map((one) => Date.parse(one))
      return { startDelay: started! - created!, duration: Math.max(1, finished! - started!) }
    }
    await sleep(100)
  }
}
