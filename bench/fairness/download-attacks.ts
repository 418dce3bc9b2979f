import { setTimeout as sleep } from 'node:timers/promises'
import { type Attack, flood, type Statuses } from './attacks.ts'
import { json, createView, type Organisation } from './bench-organisation.ts'

const slowBytesPerSecond = 10_000

/** Downloads a response and keeps no bytes, at most at this speed. Returns its status, and 0 if it breaks off. */
async function download(
  { download: send }: Organisation,
  path: string,
  { bytesPerSecond, signal }: { bytesPerSecond: number; signal: AbortSignal },
): Promise<number> {
  const response = await send(path, { signal })
  const reader = response.body!.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read())
    if (bytesPerSecond < Number.POSITIVE_INFINITY)
      await sleep((next.value.length / bytesPerSecond) * 1_000, undefined, { signal })
  return response.status
}

/** Attacks with downloads and with queries. */
export const downloadAttacks: Record<string, Attack> = {
  downloads: {
    description: '20 exports at once of 200 MB, 10 of them read at 10 kB/s',
    expectsRefusals: true,
    async prepare(attacker) {
      const view = await createView(attacker, `select n, repeat('x', 100) as text from generate_series(1, 2000000) n`)
      const repeat = (bytesPerSecond: number) => (signal: AbortSignal, statuses: Statuses) =>
        flood(10, signal, statuses, (each) =>
          download(attacker, `/views/${view}/data?format=csv`, { bytesPerSecond, signal: each }),
        )
      const [slow, fast] = [repeat(slowBytesPerSecond), repeat(Number.POSITIVE_INFINITY)]
      return async (signal, statuses) => {
        await Promise.all([slow(signal, statuses), fast(signal, statuses)])
      }
    },
  },
  'heavy-queries': {
    description: '20 queries at once that sort and join without end, half of them as files',
    expectsRefusals: true,
    async prepare(attacker) {
      const queries = [
        'select n, md5(n::text) as hash from generate_series(1, 100000000) n order by hash',
        'select count(*) from generate_series(1, 1000000) a cross join generate_series(1, 1000000) b',
      ]
      const paths = ['/queries', '/queries?format=csv']
      return async (signal, statuses) => {
        const floods = queries.flatMap((sql) =>
          paths.map((path) =>
            flood(
              5,
              signal,
              statuses,
              async () => (await attacker.call('POST', path, { ...json({ sql }), signal })).status,
            ),
          ),
        )
        await Promise.all(floods)
      }
    },
  },
}
