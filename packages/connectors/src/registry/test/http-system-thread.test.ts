import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { type ReadReporter, ReaderEnded } from '@sluice/row-stream'
import { recordThreads } from '@sluice/testing/record-created-threads'
import { itUnless } from '@sluice/testing/skip-tests'
import { until } from '@sluice/testing/wait-until'
import { allowedLoopback } from '../../../test/allow-loopback.ts'
import { fastRetry, never, silentReport } from '../../../test/connector-harness.ts'
import { startStandInServer } from '../../../test/stand-in-server.ts'
import type { ReadRequest } from '../../connector.ts'
import { createConnectorRegistry } from '../connector-registry.ts'
import { hashSettings, type IncrementState } from '../../http-connector/spool-http-system.ts'
import { keepSystemThread } from '../spool-http-system-in-thread.ts'
import type { TroubledSettings } from './failing-http-system.ts'

const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-system-thread-'))
afterAll(() => rmSync(filesDirectory, { recursive: true, force: true }))

const systems = { TROUBLED: new URL('./failing-http-system.ts', import.meta.url).href }
const sources = createConnectorRegistry({ filesDirectory, allowed: allowedLoopback, retryPolicy: fastRetry, systems })

async function startServer() {
  const server = await startStandInServer(() => ({ body: {} }))
  const listPaths = () => server.requests.map(({ path }) => path)
  return { server, listPaths, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const createRequest = (settings: TroubledSettings): ReadRequest => ({
  type: 'TROUBLED',
  settings,
  secrets: {},
  input: {},
  table: 'target',
})

/** Reads all tables. Returns the bytes of their rows by table. */
async function read(
  settings: TroubledSettings,
  report: ReadReporter = silentReport,
  signal = never,
  changes: Partial<ReadRequest> = {},
) {
  const bytesByTable: Record<string, number> = {}
  const request = { ...createRequest(settings), ...changes }
  for await (const { table, columns, content } of sources.read(request, report, signal)) {
    bytesByTable[table] = 0
    for await (const { bytes, release } of content.rows(columns)) {
      bytesByTable[table] += bytes.length
      release?.()
    }
  }
  return bytesByTable
}

const countOpenFiles = () => readdirSync('/proc/self/fd').length

describe('the thread that reads a system', () => {
  it('reports its end as an error after which the run is retried', async () => {
    await using started = await startServer()
    const { url } = started.server
    const failure = await read({ url, trouble: 'EXIT', records: 1 }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ReaderEnded)
    expect((failure as Error).message).toBe('The thread that reads TROUBLED ended unexpectedly.')
    expect(await read({ url, trouble: 'NONE', records: 2 })).toEqual({
      '': expect.any(Number),
      target__visits: expect.any(Number),
    })
  })

  it('reports a bug of a system with its cause', async () => {
    await using started = await startServer()
    await expect(read({ url: started.server.url, trouble: 'BUG', records: 1 })).rejects.toMatchObject({
      message: 'Reading TROUBLED failed',
      cause: expect.objectContaining({ message: 'the system has a bug' }),
    })
    expect(started.listPaths()).toEqual(['/sign-in', '/page', '/sign-out'])
  })

  it('reports records that need too much memory, and the process continues', async () => {
    await using started = await startServer()
    await expect(read({ url: started.server.url, trouble: 'MEMORY', records: 1 })).rejects.toMatchObject({
      name: 'SourceProblem',
      code: 'ANSWER_TOO_LARGE',
      message: expect.stringContaining('Request fewer records at a time'),
    })
  })

  itUnless(existsSync('/proc/self/fd') ? undefined : 'needs /proc')(
    'ends in the middle of a page after a cancellation, signs out, and closes its files',
    async () => {
      await using started = await startServer()
      const openFiles = countOpenFiles()
      const cancel = new AbortController()
      const reason = new Error('cancelled')
      let cancelledAt = 0
      const report: ReadReporter = {
        ...silentReport,
        log: () =>
          void setTimeout(() => {
            cancelledAt = performance.now()
            cancel.abort(reason)
          }, 200),
      }
      const settings: TroubledSettings = { url: started.server.url, trouble: 'LARGE_PAGE', records: 0 }
      await expect(read(settings, report, cancel.signal)).rejects.toBe(reason)
      expect(performance.now() - cancelledAt).toBeLessThan(5_000)
      expect(started.listPaths()).toEqual(['/sign-in', '/page', '/sign-out'])
      await until(() => countOpenFiles() === openFiles, { within: 10_000 })
    },
  )

  it('signs out after a cancellation while it waits for the start of a new read', async () => {
    await using started = await startServer()
    const settings: TroubledSettings = { url: started.server.url, trouble: 'OLD_CURSOR', records: 1 }
    const at = { records: 'page 1' }
    const cursor: IncrementState = { version: 2, settingsHash: hashSettings(settings), at, tables: ['target'] }
    const increment = { mode: 'INCREMENTAL', cursor } as const
    const reasons: string[] = []
    const report: ReadReporter = {
      ...silentReport,
      readsEverything: (reason) => void reasons.push(reason),
    }
    expect(await read(settings, report, never, increment)).toHaveProperty('')
    expect(reasons).toEqual(['The cursor is too old.'])
    const failure = new Error('The database does not answer')
    const refusing = { ...silentReport, startOver: () => Promise.reject(failure) }
    await expect(read(settings, refusing, never, increment)).rejects.toBe(failure)
    const increments = ['/sign-in /page /page /sign-out', '/sign-in /page /sign-out']
    expect(started.listPaths().join(' ')).toBe(increments.join(' '))
  })

  itUnless(existsSync('/proc/self/fd') ? undefined : 'needs /proc')(
    'leaves no files open after all tables were read',
    async () => {
      await using started = await startServer()
      using _kept = keepSystemThread()
      const settings: TroubledSettings = { url: started.server.url, trouble: 'NONE', records: 500 }
      await read(settings)
      const openFiles = countOpenFiles()
      const bytes = await read(settings)
      expect(bytes['']).toBeGreaterThan(500 * 8)
      expect(bytes['target__visits']).toBeGreaterThan(5_000 * 8)
      await until(() => countOpenFiles() <= openFiles, { within: 10_000 })
    },
  )

  it('is kept after a small or a large read, and ends if it holds much memory or fails', async () => {
    await using started = await startServer()
    const { url } = started.server
    using threads = recordThreads('system')
    using _kept = keepSystemThread()
    for (const records of [10, 0, 10, 5_000, 10]) await read({ url, trouble: 'NONE', records }).catch(() => {})
    expect(threads.countCreated()).toBe(1)
    await read({ url, trouble: 'HELD_MEMORY', records: 10 })
    await until(() => threads.countRunning() === 0, { within: 30_000 })
    await read({ url, trouble: 'NONE', records: 10 })
    await read({ url, trouble: 'BUG', records: 10 }).catch(() => {})
    await until(() => threads.countRunning() === 0, { within: 30_000 })
    expect(threads.countCreated()).toBe(2)
  })

  it.each([
    ['loads a page of 30 MB', 30_000_000, undefined],
    ['rejects a page of 100 MB', 100_000_000, 'ANSWER_TOO_LARGE'],
  ])('%s', async (_title, bytes, code) => {
    const rows = Array.from({ length: bytes / 1_000 }, (_, id) => ({ id, name: 'x'.repeat(975) }))
    await using server = await startStandInServer(() => ({ body: rows }))
    const request = { ...createRequest({ url: '', trouble: 'NONE', records: 0 }), type: 'FUNCTION' }
    const settings = { functionSource: { url: `${server.url}/rows` } }
    const rowCounts: number[] = []
    const report: ReadReporter = { ...silentReport, progress: ({ rowsRead = 0 }) => void rowCounts.push(rowsRead) }
    const reading = (async () => {
      for await (const { columns, content } of sources.read({ ...request, settings }, report, never))
        for await (const { release } of content.rows(columns)) release?.()
    })()
    if (code !== undefined) return await expect(reading).rejects.toMatchObject({ name: 'SourceProblem', code })
    await reading
    expect(Math.max(...rowCounts)).toBe(rows.length)
  })

  it('has the heap limit of the worker, and names it if a page needs more', async () => {
    const rows = Array.from({ length: 30_000 }, (_, id) => ({ id, name: 'x'.repeat(975) }))
    await using server = await startStandInServer(() => ({ body: rows }))
    const smallWorker = createConnectorRegistry({ filesDirectory, allowed: allowedLoopback, threadHeapMegabytes: 32 })
    const settings = { functionSource: { url: `${server.url}/rows` } }
    const request = { ...createRequest({ url: '', trouble: 'NONE', records: 0 }), type: 'FUNCTION', settings }
    const reading = Array.fromAsync(smallWorker.read(request, silentReport, never))
    await expect(reading).rejects.toMatchObject({
      code: 'ANSWER_TOO_LARGE',
      message: expect.stringMatching(/ needs more than the 32 MB of memory .* ask the operator .*\.$/),
    })
  })

  it('parses pages without using the main thread', async () => {
    await using started = await startServer()
    const [processBefore, threadBefore] = [process.cpuUsage(), process.threadCpuUsage()]
    await read({ url: started.server.url, trouble: 'NONE', records: 50_000 })
    const [all, main] = [process.cpuUsage(processBefore), process.threadCpuUsage(threadBefore)]
    expect(main.user + main.system).toBeLessThan((all.user + all.system) / 3)
  })
})
