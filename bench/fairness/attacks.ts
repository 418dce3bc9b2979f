import { gzipSync } from 'node:zlib'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateCsv } from './victim.ts'
import { json, createPipeline, createView, type Organisation } from './bench-organisation.ts'

/** Number of responses that A received, by HTTP status. 0 counts requests without a response. */
export type Statuses = Map<number, number>

export interface Attack {
  /** The description in the output. */
  description: string
  /** Whether A requests more than its share, so that the service must refuse some requests. */
  expectsRefusals: boolean
  /** Returns the attack, which runs until the signal aborts. */
  prepare(attacker: Organisation, url: string): Promise<(signal: AbortSignal, statuses: Statuses) => Promise<void>>
}

const countStatus = (statuses: Statuses, status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1)

/** Keeps this many requests in flight. */
export async function flood(
  concurrency: number,
  signal: AbortSignal,
  statuses: Statuses,
  sendRequest: (signal: AbortSignal) => Promise<number>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (!signal.aborted) {
        const status = await sendRequest(signal).catch(() => 0)
        countStatus(statuses, status)
        if (status !== 200) await sleep(20)
      }
    }),
  )
}

const fetchStatus = async (url: string, init: RequestInit): Promise<number> => {
  const response = await fetch(url, init)
  await response.arrayBuffer()
  return response.status
}

/** Keeps this many runs in flight. */
async function repeatRuns(
  attacker: Organisation,
  pipelines: readonly string[],
  signal: AbortSignal,
  statuses: Statuses,
): Promise<void> {
  while (!signal.aborted) {
    for (const id of pipelines) countStatus(statuses, (await attacker.call('POST', `/data-pipelines/${id}/run`)).status)
    await sleep(500)
  }
  for (const id of pipelines) await attacker.call('POST', `/data-pipelines/${id}/cancel`)
}

export const attacks: Record<string, Attack> = {
  pages: {
    description: '70 pages at once of a view that sleeps',
    expectsRefusals: true,
    async prepare(attacker) {
      const view = await createView(attacker, 'select 1 as id, pg_sleep(25)::text as slept')
      return (signal, statuses) =>
        flood(70, signal, statuses, async () => (await attacker.call('GET', `/views/${view}/data`, { signal })).status)
    },
  },
  'anonymous-pages': {
    description: '75 pages at once of an open view that sleeps, without sign-in',
    expectsRefusals: true,
    async prepare(attacker, url) {
      const anonymousAccess = { metadata: true, data: true }
      const view = await createView(attacker, 'select 1 as id, pg_sleep(2)::text as slept', { anonymousAccess })
      let page = 0
      return (signal, statuses) =>
        flood(75, signal, statuses, () =>
          fetchStatus(`${url}/api/v1/public/views/${view}/data?page=${++page}`, { signal }),
        )
    },
  },
  bodies: {
    description: 'compressed bodies at addresses that do not exist, without sign-in',
    expectsRefusals: false,
    async prepare(_attacker, url) {
      const body = gzipSync(`[${'{},'.repeat(349_000)}{}]`)
      const headers = { authorization: 'x', 'content-type': 'application/json', 'content-encoding': 'gzip' }
      return (signal, statuses) =>
        flood(20, signal, statuses, () => fetchStatus(`${url}/api/v1/x`, { method: 'POST', body, headers, signal }))
    },
  },
  views: {
    description: '20 saves at once of views that sleep',
    expectsRefusals: true,
    async prepare(attacker) {
      const query = 'select 1 as id, pg_sleep(40)::text as slept'
      return (signal, statuses) =>
        flood(40, signal, statuses, async () => {
          const body = { name: `x${Math.random()}`, schema: { id: attacker.schema }, query, materialized: true }
          return (
            await attacker.call('POST', '/views', {
              ...json({ ...body, disabled: false, runTrigger: 'NEVER' }),
              signal,
            })
          ).status
        })
    },
  },
  previews: {
    description: '40 previews at once of a query that never ends',
    expectsRefusals: true,
    async prepare(attacker) {
      const query = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b'
      return (signal, statuses) =>
        flood(40, signal, statuses, async () => {
          const body = json({ schema: { id: attacker.schema }, query })
          return (await attacker.call('POST', '/views/preview', { ...body, signal })).status
        })
    },
  },
  queries: {
    description: '40 queries at once that sort without end',
    expectsRefusals: true,
    async prepare(attacker) {
      const sql = 'select * from generate_series(1, 1000000000) n order by n desc'
      return (signal, statuses) =>
        flood(
          40,
          signal,
          statuses,
          async () => (await attacker.call('POST', '/queries', { ...json({ sql }), signal })).status,
        )
    },
  },
  exports: {
    description: '40 exports at once of 200 MB',
    expectsRefusals: true,
    async prepare(attacker) {
      const view = await createView(attacker, `select n, repeat('x', 100) as text from generate_series(1, 2000000) n`)
      return (signal, statuses) =>
        flood(40, signal, statuses, async () => {
          const path = `/views/${view}/data?format=csv`
          return (await attacker.call('GET', path, { signal })).status
        })
    },
  },
  worker: {
    description: '12 runs whose transformation sleeps',
    expectsRefusals: false,
    async prepare(attacker) {
      const pipelines: string[] = []
      for (let at = 0; at < 12; at += 1)
        pipelines.push(await createPipeline(attacker, 'a\n1\n', ['select pg_sleep(45)']))
      return (signal, statuses) => repeatRuns(attacker, pipelines, signal, statuses)
    },
  },
  loads: {
    description: '8 loads of 100 MB, again and again',
    expectsRefusals: false,
    async prepare(attacker) {
      const content = generateCsv(100_000_000)
      const pipelines: string[] = []
      for (let at = 0; at < 8; at += 1) pipelines.push(await createPipeline(attacker, content))
      return (signal, statuses) => repeatRuns(attacker, pipelines, signal, statuses)
    },
  },
  locks: {
    description: 'a transformation that makes tables without end',
    expectsRefusals: false,
    async prepare(attacker) {
      const statement = `do $x$ declare i int := 0; begin loop i := i + 1;
        begin execute 'create table q_' || i || ' ()'; exception when others then null; end; end loop; end $x$`
      const pipelines = [await createPipeline(attacker, 'a\n1\n', [statement])]
      return (signal, statuses) => repeatRuns(attacker, pipelines, signal, statuses)
    },
  },
  uploads: {
    description: '60 uploads of 20 MB at once to one pipeline',
    expectsRefusals: true,
    async prepare(attacker) {
      const content = generateCsv(20_000_000)
      const pipeline = await createPipeline(attacker, 'a\n1\n')
      const headers = { 'content-type': 'text/csv' }
      return (signal, statuses) =>
        flood(60, signal, statuses, async () => {
          const init = { body: content as unknown as string, headers, signal }
          return (await attacker.call('POST', `/data-pipelines/${pipeline}/file`, init)).status
        })
    },
  },
}
