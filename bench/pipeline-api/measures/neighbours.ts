import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresWarehouse } from '../../../packages/warehouses/src/postgres/postgres-warehouse.ts'
import { provisionWarehouse } from '../../../packages/warehouses/src/postgres/server/provision.ts'
import type { Warehouse } from '../../../packages/warehouses/src/warehouse.ts'
import type { Parts, Report } from './measure.ts'

/** Queries of a neighbour, one after the other. */
const asked = 300

/**
 * How many endless queries the other client asks for at the same time. One is what has to leave others alone. Of eight, three
 * run: more than two cores can do, which is shared out by the system; the figure says what that comes to.
 */
const storms: { endless: number; limit?: number }[] = [{ endless: 1, limit: 1.2 }, { endless: 8 }]

/** What other clients notice of one whose queries never end. */
export async function* neighbours({ installation, rounds }: Parts): AsyncGenerator<Report> {
  const adminUrl = installation.environment['WAREHOUSE_DATABASE_URL']!
  await using noisy = await warehouse(adminUrl)
  await using quiet = await warehouse(adminUrl)
  await timesOf(quiet)
  const calm: number[] = []
  const beside = storms.map((): number[] => [])
  for (let round = 1; round <= rounds; round += 1) {
    calm.push(...(await timesOf(quiet)))
    for (const [at, { endless }] of storms.entries()) beside[at]!.push(...(await timesBeside(noisy, quiet, endless)))
  }
  const p95 = quantile(calm, 0.95)
  yield {
    title: "A client's queries while another client asks for some that never end",
    head: ['beside', 'median, ms', 'p95, ms', 'p95, multiple'],
    rows: [
      ['nothing', quantile(calm, 0.5), p95, 1],
      ...storms.map(({ endless }, at): [string, number, number, number] => {
        const times = beside[at]!
        return [`${endless} that never end`, quantile(times, 0.5), quantile(times, 0.95), quantile(times, 0.95) / p95]
      }),
    ],
    targets: storms.flatMap(({ endless, limit }, at) =>
      limit === undefined
        ? []
        : [
            {
              text: `p95 beside ${endless}, as a multiple`,
              value: quantile(beside[at]!, 0.95) / p95,
              limit,
              unit: '×',
            },
          ],
    ),
  }
}

async function timesBeside(noisy: Warehouse, quiet: Warehouse, endless: number): Promise<number[]> {
  const over = new AbortController()
  const text = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b'
  const running = Array.from({ length: endless }, () =>
    noisy.queries.query({ text, limits: { seconds: 600 } }, over.signal).catch(() => {}),
  )
  await sleep(1_000)
  const times = await timesOf(quiet)
  over.abort(new Error('enough'))
  await Promise.all(running)
  return times
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
    await quiet.queries.query({ text: 'select n, md5(n::text) from generate_series(1, 1000) n order by 2' })
    times.push(performance.now() - begun)
  }
  return times
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!
}
