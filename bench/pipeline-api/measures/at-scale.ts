import pg from 'pg'
import { fill, type Size } from './fill.ts'
import type { Parts, Report } from './measure.ts'

/** What people and their pages ask all day. `{uid}` is a pipeline with thousands of runs. */
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
  'log, first page': { path: '/data-pipelines/{uid}/logs?pageSize=100' },
  'log, errors only': { path: '/data-pipelines/{uid}/logs?pageSize=100&logLevel=ERROR' },
}

/** Hexadecimal ones, in the name of each pipeline. */
const digitsOfName = 32

const small: Size = { pipelines: 1_000, runs: 10_000, logs: 100_000 }

/** The same requests of a small installation and of a large one, one after the other, each a hundred times. */
export async function* atScale({ installation, large, rounds }: Parts): AsyncGenerator<Report> {
  const db = new pg.Client({ connectionString: installation.databaseUrl('pipeline') })
  // Where a measure fails, the server goes first.
  db.on('error', () => {})
  await db.connect()
  const { client, id } = installation.schema
  const few = await measured(installation, await fill(db, client, id, small), small, rounds)
  const many = await measured(installation, await fill(db, client, id, large), large, rounds)
  const { rows } = await db.query(`select pg_size_pretty(pg_database_size(current_database())) as size`)
  await db.end()
  const counted = (size: Size) =>
    `${size.pipelines.toLocaleString('en')} pipelines, ${size.runs.toLocaleString('en')} runs, ${size.logs.toLocaleString('en')} log lines`
  yield {
    title: `Of ${counted(large)} (${rows[0].size}), against ${counted(small)}`,
    head: ['what', 'few: p50 ms', 'p95', 'many: p50 ms', 'p95', 'p95 ratio'],
    rows: Object.keys(requests).map((what) => {
      const [one, other] = [few.get(what)!, many.get(what)!]
      return [what, one.p50, one.p95, other.p50, other.p95, other.p95 / one.p95]
    }),
    targets: Object.keys(requests).map((what) => ({
      text: `${what}: p95 of many / of few`,
      value: many.get(what)!.p95 / few.get(what)!.p95,
      limit: 2,
      unit: '×',
    })),
  }
}

interface Times {
  p50: number
  p95: number
}

async function measured(
  { pipelineUrl, token }: Parts['installation'],
  uid: string,
  { pipelines }: Size,
  rounds: number,
): Promise<Map<string, Times>> {
  const times = new Map<string, Times>()
  // As long as it takes for a page of rows to have it: what finding them costs is measured, not what showing more of them does.
  const digits = Math.round(Math.log((pipelines * digitsOfName) / 50) / Math.log(16))
  for (const [what, { path, body }] of Object.entries(requests)) {
    const each: number[] = []
    for (let asked = 0; asked < 100 * rounds; asked++) {
      const number = (asked * 7919) % 4096
      const filled = (text: string) =>
        text
          .replace('{uid}', uid)
          .replace('{piece}', number.toString(16).padStart(4, '0').slice(-digits))
          .replace('{digit}', (number % 16).toString(16))
      const began = performance.now()
      const response = await fetch(`${pipelineUrl}/api/v1${filled(path)}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' },
        ...(body && { body: filled(JSON.stringify(body)) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${what} was answered ${response.status}: ${text}`)
      // The first ones fill caches, of plans too.
      if (asked >= 10) each.push(performance.now() - began)
    }
    const sorted = each.toSorted((a, b) => a - b)
    times.set(what, { p50: sorted[Math.floor(sorted.length / 2)]!, p95: sorted[Math.floor(sorted.length * 0.95)]! })
  }
  return times
}
