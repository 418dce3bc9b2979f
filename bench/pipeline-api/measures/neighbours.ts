import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresWarehouse } from '../../../apps/pipeline/src/engine/warehouses/postgres/postgres-warehouse.ts'
import { provisionWarehouse } from '../../../apps/pipeline/src/engine/warehouses/postgres/provision.ts'
import type { Warehouse } from '../../../apps/pipeline/src/engine/warehouses/warehouse.ts'
import type { Parts, Report } from './measure.ts'

/** Queries of a neighbour, one after the other, and how many endless ones the other client asks for at the same time. */
const asked = 300
const endless = 8

/** What other clients notice of one whose queries never end. */
export async function* neighbours({ installation, rounds }: Parts): AsyncGenerator<Report> {
  const adminUrl = installation.environment['WAREHOUSE_DATABASE_URL']!
  await using noisy = await warehouse(adminUrl)
  await using quiet = await warehouse(adminUrl)
  await timesOf(quiet)
  const rows: [string, number, number][] = []
  const calm: number[] = []
  const storm: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    calm.push(...(await timesOf(quiet)))
    const over = new AbortController()
    const text = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b'
    const running = Array.from({ length: endless }, () =>
      noisy.query({ text, limits: { seconds: 600 } }, over.signal).catch(() => {}),
    )
    await sleep(1_000)
    storm.push(...(await timesOf(quiet)))
    over.abort(new Error('enough'))
    await Promise.all(running)
  }
  rows.push(
    ['alone', quantile(calm, 0.5), quantile(calm, 0.95)],
    ['beside it', quantile(storm, 0.5), quantile(storm, 0.95)],
  )
  yield {
    title: `A client's queries while another client asks for ${endless} that never end`,
    head: ['what', 'median, ms', 'p95, ms'],
    rows,
    targets: [{ text: 'p95 beside it, as a multiple', value: rows[1]![2] / rows[0]![2], limit: 1.2, unit: '×' }],
  }
}

async function warehouse(adminUrl: string): Promise<Warehouse> {
  const [loadPassword, readPassword] = [randomBytes(18).toString('hex'), randomBytes(18).toString('hex')]
  const access = await provisionWarehouse(adminUrl, { key: randomBytes(8).toString('hex'), loadPassword, readPassword })
  return openPostgresWarehouse(access)
}

/** Milliseconds of each. */
async function timesOf(quiet: Warehouse): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < asked; count += 1) {
    const begun = performance.now()
    await quiet.query({ text: 'select n, md5(n::text) from generate_series(1, 1000) n order by 2' })
    times.push(performance.now() - begun)
  }
  return times
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!
}
