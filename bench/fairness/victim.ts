import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { json, makePipeline, type Organisation } from './organisation.ts'

/** What B notices. Milliseconds, and bytes a second. */
export interface Noticed {
  answers: number[]
  errors: number
  starts: number[]
  speeds: number[]
}

export interface Victim {
  small: string
  large: string
}

const largeBytes = 20_000_000

export function csvOf(bytes: number): Buffer {
  const lines = ['id,name,amount,day']
  for (let size = 0, id = 1; size < bytes; id += 1) {
    lines.push(`${id},Facility ${id % 1000},${(id * 37) % 100_000}.25,2026-0${(id % 9) + 1}-1${id % 9}`)
    size += lines.at(-1)!.length + 1
  }
  return Buffer.from(`${lines.join('\n')}\n`)
}

export async function makeVictim(organisation: Organisation): Promise<Victim> {
  const small = await makePipeline(organisation, 'a\n1\n')
  const large = await makePipeline(organisation, csvOf(largeBytes))
  await runOne(organisation, small)
  await runOne(organisation, large)
  return { small, large }
}

/** Works for so many seconds: requests one after the other, and beside them a small run and a load. */
export async function work(organisation: Organisation, victim: Victim, seconds: number): Promise<Noticed> {
  const noticed: Noticed = { answers: [], errors: 0, starts: [], speeds: [] }
  const end = performance.now() + seconds * 1_000
  const asking = async () => {
    while (performance.now() < end) {
      await timed(noticed, () => organisation.ask('GET', '/data-pipelines'))
      await timed(noticed, () => organisation.ask('GET', `/data-pipelines/${victim.small}/data`))
      await timed(noticed, () => organisation.ask('GET', '/views'))
      const name = `x${randomBytes(6).toString('hex')}`
      const body = json({ name, permanent: false, providerSchema: 'SQL_DATABASE_D' })
      await timed(noticed, () => organisation.ask('POST', '/schemas', body))
      await sleep(50)
    }
  }
  const loading = async () => {
    while (performance.now() < end) {
      noticed.starts.push((await runOne(organisation, victim.small)).waited)
      const { waited, took } = await runOne(organisation, victim.large)
      noticed.starts.push(waited)
      noticed.speeds.push((largeBytes / took) * 1_000)
      await sleep(500)
    }
  }
  await Promise.all([asking(), loading()])
  return noticed
}

async function timed(noticed: Noticed, ask: () => Promise<{ status: number }>): Promise<void> {
  const begun = performance.now()
  const status = await ask().then(
    (answer) => answer.status,
    () => 599,
  )
  noticed.answers.push(performance.now() - begun)
  if (status >= 500) noticed.errors += 1
}

/** Milliseconds until it began, and from then to its end. */
async function runOne({ ask }: Organisation, id: string): Promise<{ waited: number; took: number }> {
  const asked = await ask('POST', `/data-pipelines/${id}/run`)
  if (asked.status !== 202) throw new Error(`A run was not taken: ${asked.status} ${JSON.stringify(asked.body)}`)
  for (;;) {
    const { body } = await ask('GET', `/data-pipelines/${id}/runs?pageSize=1`)
    const [run] = Array.isArray(body) ? body : []
    if (run?.finished) {
      if (run.status !== 'OK') throw new Error(`A run of the measured organisation ended ${run.status}: ${run.message}`)
      const [created, started, finished] = [run.created, run.started, run.finished].map((one) => Date.parse(one))
      return { waited: started! - created!, took: Math.max(1, finished! - started!) }
    }
    await sleep(100)
  }
}
