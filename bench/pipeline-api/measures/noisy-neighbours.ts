import { quantile } from '../../statistics.ts'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresWarehouse } from '../../../packages/warehouses/src/postgres/postgres-warehouse.ts'
import { provisionWarehouse } from '../../../packages/warehouses/src/postgres/server/provision-warehouse.ts'
import type { Warehouse } from '../../../packages/warehouses/src/warehouse.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

/** Number of sequential queries of the measured client. */
const queriesPerRound = 300

/**
 * Numbers of concurrent endless queries of the other client. One must not slow down other clients. Of eight, three run,
 * which is more than two cores can do; the operating system then shares the cores, so this case has no limit.
 */
const scenarios: { endless: number; limit?: number }[] = [{ endless: 1, limit: 1.2 }, { endless: 8 }]

/** Measures the queries of one client while another client runs queries that never end. */
export async function* neighbours({ installation, rounds }: BenchContext): AsyncGenerator<MeasureReport> {
  const adminUrl = installation.environment['WAREHOUSE_DATABASE_URL']!
  await using noisy = await warehouse(adminUrl)
  await using quiet = await warehouse(adminUrl)
  await measureQueries(quiet)
  const idle: number[] = []
  const disturbed = scenarios.map((): number[] => [])
  for (let round = 1; round <= rounds; round += 1) {
    idle.push(...(await measureQueries(quiet)))
    for (const [at, { endless }] of scenarios.entries())
      disturbed[at]!.push(...(await measureWithEndlessQueries(noisy, quiet, endless)))
  }
  const p95 = quantile(idle, 0.95)
  yield {
    title: 'Queries of a client while another client runs endless queries',
    head: ['endless queries', 'median, ms', 'p95, ms', 'p95, multiple'],
    rows: [
      ['none', quantile(idle, 0.5), p95, 1],
      ...scenarios.map(({ endless }, at): [string, number, number, number] => {
        const times = disturbed[at]!
        return [`${endless}`, quantile(times, 0.5), quantile(times, 0.95), quantile(times, 0.95) / p95]
      }),
    ],
    targets: scenarios.flatMap(({ endless, limit }, at) =>
      limit === undefined
        ? []
        : [
            {
              text: `p95 with ${endless} endless, as a multiple`,
              value: quantile(disturbed[at]!, 0.95) / p95,
              limit,
              unit: '×',
            },
          ],
    ),
  }
}

async function measureWithEndlessQueries(noisy: Warehouse, quiet: Warehouse, endless: number): Promise<number[]> {
  const stop = new AbortController()
  const text = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b'
  const running = Array.from({ length: endless }, () =>
    noisy.queries.query({ text, limits: { seconds: 600 } }, stop.signal).catch(() => {}),
  )
  await sleep(1_000)
  const times = await measureQueries(quiet)
  stop.abort(new Error('enough'))
  await Promise.all(running)
  return times
}

async function warehouse(adminUrl: string): Promise<Warehouse> {
  const [loadPassword, readPassword] = [randomBytes(18).toString('hex'), randomBytes(18).toString('hex')]
  const access = await provisionWarehouse(adminUrl, { key: randomBytes(8).toString('hex'), loadPassword, readPassword })
  return openPostgresWarehouse(access)
}

/** Returns the milliseconds of each query. */
async function measureQueries(quiet: Warehouse): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < queriesPerRound; count += 1) {
    const startedAt = performance.now()
    await quiet.queries.query({ text: 'select n, md5(n::text) from generate_series(1, 1000) n order by 2' })
    times.push(performance.now() - startedAt)
  }
  return times
}
