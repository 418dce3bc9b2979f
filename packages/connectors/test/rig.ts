import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { loadFeeds } from '@sluice/warehouses/load-feeds'
import { keepReaderThreads } from '@sluice/file-formats/upload/keep-reader-threads'
import type { SourceReading } from '../src/connector.ts'
import type { RejectedRow, LoadReport } from '@sluice/row-stream'
import { createSourceRegistry } from '../src/registry/source-registry.ts'
import { type ScratchWarehouse, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { allowedHere } from './allowed-here.ts'
import { hasty, silent } from './reading-scene.ts'

export const never = new AbortController().signal

/** All but `rows` in bytes. `read-all.ts` says when each is measured. */
interface MeasuredReading {
  rows: number
  bytes: number
  reachableFirst: number
  reachableMost: number
}

/** Sources as a worker has them and a warehouse, with everything that is said between the two. */
export async function openRig({ warehouse, superuser }: Pick<ScratchWarehouse, 'warehouse' | 'superuser'>) {
  const filesDirectory = await mkdtemp(join(tmpdir(), 'sluice-rig-'))
  const sources = createSourceRegistry({ filesDirectory, allowed: allowedHere, retryPolicy: hasty })
  // As in a worker.
  const threads = keepReaderThreads()
  const said: string[] = []
  const rejected: RejectedRow[] = []
  const report: LoadReport = {
    ...silent,
    reject: (row) => void (rejected.push(row), said.push(row.raw, row.reason)),
    startOver: async () => void (rejected.length = 0),
    log: (_level, _importance, message) => void said.push(message),
  }
  const rig = {
    sources,
    said,
    rejected,
    /** Each test has a table of its own. */
    table: word('rows_'),
    async load(asked: SourceReading, mode: 'FULL' | 'INCREMENTAL' = 'FULL', signal = never) {
      rejected.length = 0
      const { table } = rig
      const cursor = await warehouse.loader.findCursor('health', table)
      const reading: SourceReading = { ...asked, table, mode, ...(cursor !== undefined && { cursor }) }
      const merged = mode === 'INCREMENTAL' && (await sources.increments(reading))
      try {
        return await loadFeeds({
          feeds: sources.read(reading, report, signal),
          warehouse,
          target: { schema: 'health', table },
          run: word('run'),
          attempt: 1,
          isCurrentAttempt: async () => true,
          signal,
          rejected: () => ({ count: rejected.length, first: rejected[0]?.reason }),
          ...(merged && { mode: 'MERGE' as const }),
        })
      } catch (error) {
        said.push((error as Error).message)
        throw error
      }
    },
    /** What is wrong, as a test of the connection says it. */
    async tried(reading: SourceReading) {
      const found = await sources.test(reading, never)
      if (found) said.push(found.message)
      return found
    },
    /** The values of columns as texts, ordered by the first. */
    async values(...columns: string[]): Promise<(string | null)[][]> {
      const texts = columns.map((column) => `"${column}"::text`).join(', ')
      const text = `select ${texts} from health.${rig.table} order by "${columns[0]}"`
      return (await superuser.query<(string | null)[]>({ text, rowMode: 'array' })).rows
    },
    async typeOf(column: string) {
      const found = await warehouse.catalog.findTable('health', rig.table)
      return found?.columns.find(({ name }) => name === column)?.dataType
    },
    /** Reads in a process of its own whose heap has at most so many megabytes; `peak` is in bytes. */
    async readWithin(heap: number, reading: SourceReading): Promise<{ rows: number; peak: number }> {
      return readAll(`--max-old-space-size=${heap}`, { ...reading, table: rig.table, filesDirectory })
    },
    /** Reads in a process of its own that measures what is reachable while it reads. */
    async readMeasured(reading: SourceReading) {
      return readAll<MeasuredReading>('--expose-gc', { ...reading, table: rig.table, filesDirectory })
    },
    /** Ends a load once `begun` says that it is under way, and expects it to end within five seconds. */
    async expectCancelled(reading: SourceReading, begun: () => boolean | Promise<boolean>) {
      const cancel = new AbortController()
      const state = { over: false }
      const loading = rig
        .load(reading, 'FULL', cancel.signal)
        .catch((error: unknown) => error)
        .finally(() => (state.over = true))
      while (!state.over && !(await begun())) await new Promise((resolve) => setTimeout(resolve, 5))
      const reason = new Error('cancelled')
      const from = performance.now()
      cancel.abort(reason)
      expect(await loading).toBe(reason)
      expect(performance.now() - from).toBeLessThan(5_000)
    },
    /** Nothing that was said so far holds one of these, however it is spelled. */
    expectUnsaid(secrets: readonly string[]) {
      expect(said.length).toBeGreaterThan(5)
      for (const value of secrets) {
        const spellings = [value, encodeURIComponent(value), Buffer.from(value).toString('base64').replace(/=+$/, '')]
        for (const spelling of spellings) expect(said.join('\n')).not.toContain(spelling)
      }
    },
    async [Symbol.asyncDispose]() {
      threads[Symbol.dispose]()
      await rm(filesDirectory, { recursive: true, force: true })
    },
  }
  return rig
}

export type Rig = Awaited<ReturnType<typeof openRig>>

/** Runs `read-all.ts`; answers what it printed. */
async function readAll<T>(flag: string, reading: object): Promise<T> {
  const program = new URL('./read-all.ts', import.meta.url).pathname
  const { stdout } = await promisify(execFile)(process.execPath, [flag, program, JSON.stringify(reading)])
  return JSON.parse(stdout)
}
