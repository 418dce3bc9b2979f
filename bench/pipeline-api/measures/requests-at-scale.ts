import pg from 'pg'
import { fillDatabase, type InstallationSize } from './fill-database.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

/** The common requests of users and their pages. `{uid}` is a pipeline with thousands of runs. */
const requests: Readonly<Record<string, { path: string; body?: object }>> = {
  'list, first page': { path: '/data-pipelines?pageSize=50' },
  'list, uncounted': { path: '/data-pipelines?pageSize=50&total=false' },
  'search by a piece of text': { path: '/data-pipelines/search', body: { query: '{piece}', paging: { pageSize: 50 } } },
  'search by filter': {
    path: '/data-pipelines/search',
    body: { filter: ['name:startsWith:Malaria {digit}'], paging: { pageSize: 50, total: false } },
  },
  'one pipeline': { path: '/data-pipelines/{uid}' },
  'runs, first page': { path: '/data-pipelines/{uid}/runs?pageSize=50' },
  'runs of all objects, first page': { path: '/runs?pageSize=50' },
  'runs of all objects, failed': { path: '/runs?pageSize=50&status=FAILED' },
  'runs of all objects, a status that none has': { path: '/runs?pageSize=50&status=CANCELLED' },
  'log, first page': { path: '/data-pipelines/{uid}/logs?pageSize=100' },
  'log, errors only': { path: '/data-pipelines/{uid}/logs?pageSize=100&logLevel=ERROR' },
}

/** Hexadecimal digits in the name of each pipeline. */
const digitsOfName = 32

const small: InstallationSize = { pipelines: 1_000, runs: 10_000, logs: 100_000 }

/** Sends the same requests to a small and to a large installation, one after the other, a hundred times per round. */
export async function* atScale({ installation, large, rounds }: BenchContext): AsyncGenerator<MeasureReport> {
  const db = new pg.Client({ connectionString: installation.databaseUrl('pipeline') })
  // If a measure fails, the server stops before this connection closes.
  db.on('error', () => {})
  await db.connect()
  const { client, id } = installation.schema
  const few = await measureRequests(installation, await fillDatabase(db, client, id, small), small, rounds)
  const many = await measureRequests(installation, await fillDatabase(db, client, id, large), large, rounds)
  const { rows } = await db.query(`select pg_size_pretty(pg_database_size(current_database())) as size`)
  await db.end()
  const describeSize = (size: InstallationSize) =>
    `${size.pipelines.toLocaleString('en')} pipelines, ${size.runs.toLocaleString('en')} runs, ${size.logs.toLocaleString('en')} log lines`
  yield {
    title: `Of ${describeSize(large)} (${rows[0].size}), against ${describeSize(small)}`,
    head: ['measure', 'few: p50 ms', 'p95', 'many: p50 ms', 'p95', 'p95 ratio'],
    rows: Object.keys(requests).map((label) => {
      const [one, other] = [few.get(label)!, many.get(label)!]
      return [label, one.p50, one.p95, other.p50, other.p95, other.p95 / one.p95]
    }),
    targets: Object.keys(requests).map((label) => ({
      text: `${label}: p95 of many / of few`,
      value: many.get(label)!.p95 / few.get(label)!.p95,
      limit: 2,
      unit: '×',
    })),
  }
}

interface Times {
  p50: number
  p95: number
}

async function measureRequests(
  { pipelineUrl, token }: BenchContext['installation'],
  uid: string,
  { pipelines }: InstallationSize,
  rounds: number,
): Promise<Map<string, Times>> {
  const times = new Map<string, Times>()
  // As many digits as leave about one page of matches, so that the measure is the search and not the size of its
  // result.
  const digits = Math.round(Math.log((pipelines * digitsOfName) / 50) / Math.log(16))
  for (const [label, { path, body }] of Object.entries(requests)) {
    const each: number[] = []
    for (let index = 0; index < 100 * rounds; index++) {
      const number = (index * 7919) % 4096
      const filled = (text: string) =>
        text
          .replace('{uid}', uid)
          .replace('{piece}', number.toString(16).padStart(4, '0').slice(-digits))
          .replace('{digit}', (number % 16).toString(16))
      const startedAt = performance.now()
      const response = await fetch(`${pipelineUrl}/api/v1${filled(path)}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' },
        ...(body && { body: filled(JSON.stringify(body)) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${label} returned ${response.status}: ${text}`)
      // The first requests fill caches, such as those of query plans.
      if (index >= 10) each.push(performance.now() - startedAt)
    }
    const sorted = each.toSorted((a, b) => a - b)
    times.set(label, { p50: sorted[Math.floor(sorted.length / 2)]!, p95: sorted[Math.floor(sorted.length * 0.95)]! })
  }
  return times
}
