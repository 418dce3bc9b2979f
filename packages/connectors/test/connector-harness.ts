import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { loadRowStreams } from '@sluice/warehouses/load-row-streams'
import { keepReaderThreads } from '@sluice/file-formats/start-reader-thread'
import type { ReadRequest } from '../src/connector.ts'
import type { RejectedRow, ReadReporter } from '@sluice/row-stream'
import { createConnectorRegistry, type ConnectorRegistry } from '../src/registry/connector-registry.ts'
import { type ScratchWarehouse, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { allowedLoopback } from './allow-loopback.ts'
import { mkdtempSync } from 'node:fs'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import type { ConnectorFixture, StandIn } from './connector-fixture.ts'

export const never = new AbortController().signal

/** Short delays: the tests check that requests are repeated, not how long that takes. */
export const fastRetry = { attempts: 4, firstDelay: 0.01, maxDelay: 0.05 }

export const silentReport: ReadReporter = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

interface TestLoad {
  sources: ConnectorRegistry
  warehouse: Warehouse
  reading: ReadRequest
  /** In the schema `health`. */
  table: string
  mode: 'FULL' | 'INCREMENTAL'
  report: ReadReporter
  rejected(): { count: number; first?: string | undefined }
  signal: AbortSignal
  /** A digest of the settings. The table may change its shape if it differs from that of the last load. */
  definition?: string | undefined
}

/** Loads a source as a worker does. Increments are merged. */
export async function loadSource(load: TestLoad) {
  const { sources, warehouse, reading, table, mode, report, rejected, signal, definition } = load
  const cursor = (await warehouse.loader.findLastLoad('health', table)).cursor
  const request: ReadRequest = { ...reading, table, mode, ...(cursor !== undefined && { cursor }) }
  const isMerge = mode === 'INCREMENTAL' && (await sources.canReadIncrement(request))
  return await loadRowStreams({
    rowStreams: sources.read(request, report, signal),
    warehouse,
    target: { schema: 'health', table },
    run: word('run'),
    attempt: 1,
    isCurrentAttempt: async () => true,
    signal,
    rejected,
    ...(isMerge && { mode: 'MERGE' as const }),
    ...(definition !== undefined && { shape: { definition } }),
  })
}

/** Collects log messages, reasons of full reads and rejected rows of loads. */
function createRecorder() {
  const messages: string[] = []
  const rejected: RejectedRow[] = []
  const report: ReadReporter = {
    ...silentReport,
    reject: (row) => void (rejected.push(row), messages.push(row.raw, row.reason)),
    startOver: async () => void (rejected.length = 0),
    log: (_level, _importance, message) => void messages.push(message),
    readsEverything: (reason) => void messages.push(reason),
  }
  return {
    messages,
    rejected,
    report,
    /** Loads a source, and records the message if that fails. */
    async load(load: Omit<TestLoad, 'report' | 'rejected'>) {
      rejected.length = 0
      try {
        const countRejected = () => ({ count: rejected.length, first: rejected[0]?.reason })
        return await loadSource({ ...load, report, rejected: countRejected })
      } catch (error) {
        messages.push((error as Error).message)
        throw error
      }
    },
  }
}

/** All but `rows` in bytes. `measure-read-memory.ts` says when each is measured. */
interface MeasuredReading {
  rows: number
  bytes: number
  reachableFirst: number
  reachableMost: number
}

/** Opens the sources as a worker does, with a warehouse, and records all messages. */
export async function openHarness({ warehouse, superuser }: Pick<ScratchWarehouse, 'warehouse' | 'superuser'>) {
  const filesDirectory = await mkdtemp(join(tmpdir(), 'sluice-harness-'))
  const sources = createConnectorRegistry({ filesDirectory, allowed: allowedLoopback, retryPolicy: fastRetry })
  // As in a worker.
  const threads = keepReaderThreads()
  const recorder = createRecorder()
  const { messages, rejected } = recorder
  const harness = {
    sources,
    messages,
    rejected,
    /** Each test has a table of its own. */
    table: word('rows_'),
    load: (reading: ReadRequest, mode: 'FULL' | 'INCREMENTAL' = 'FULL', signal = never, definition?: string) =>
      recorder.load({ sources, warehouse, reading, table: harness.table, mode, signal, definition }),
    /** Returns the problem of a connection test. */
    async testConnection(reading: ReadRequest) {
      const found = await sources.testConnection(reading, never)
      if (found) messages.push(found.message)
      return found
    },
    /** The values of columns as texts, ordered by the first. */
    async values(...columns: string[]): Promise<(string | null)[][]> {
      const texts = columns.map((column) => `"${column}"::text`).join(', ')
      const text = `select ${texts} from health.${harness.table} order by "${columns[0]}"`
      return (await superuser.query<(string | null)[]>({ text, rowMode: 'array' })).rows
    },
    async typeOf(column: string) {
      const found = await warehouse.catalog.findTable('health', harness.table)
      return found?.columns.find(({ name }) => name === column)?.dataType
    },
    /** Reads in a process of its own whose heap has at most so many megabytes; `peak` is in bytes. */
    async readWithin(heap: number, reading: ReadRequest): Promise<{ rows: number; peak: number }> {
      return readAll(`--max-old-space-size=${heap}`, { ...reading, table: harness.table, filesDirectory })
    },
    /** Reads in a process of its own that measures what is reachable while it reads. */
    async readMeasured(reading: ReadRequest) {
      return readAll<MeasuredReading>('--expose-gc', { ...reading, table: harness.table, filesDirectory })
    },
    /** Cancels a load when `isRunning` returns true, and expects it to end within five seconds. */
    async expectCancelled(reading: ReadRequest, isRunning: () => boolean | Promise<boolean>) {
      const cancel = new AbortController()
      const state = { isOver: false }
      const loading = harness
        .load(reading, 'FULL', cancel.signal)
        .catch((error: unknown) => error)
        .finally(() => (state.isOver = true))
      while (!state.isOver && !(await isRunning())) await new Promise((resolve) => setTimeout(resolve, 5))
      const reason = new Error('cancelled')
      const from = performance.now()
      cancel.abort(reason)
      expect(await loading).toBe(reason)
      expect(performance.now() - from).toBeLessThan(5_000)
    },
    /** Expects that no message contains one of these, in any encoding. */
    expectRedacted(secrets: readonly string[]) {
      expect(messages.length).toBeGreaterThan(5)
      for (const value of secrets) {
        const spellings = [value, encodeURIComponent(value), Buffer.from(value).toString('base64').replace(/=+$/, '')]
        for (const spelling of spellings) expect(messages.join('\n')).not.toContain(spelling)
      }
    },
    async [Symbol.asyncDispose]() {
      threads[Symbol.dispose]()
      await rm(filesDirectory, { recursive: true, force: true })
    },
  }
  return harness
}

export type ConnectorHarness = Awaited<ReturnType<typeof openHarness>>

/** Runs `measure-read-memory.ts`; answers what it printed. */
async function readAll<T>(flag: string, reading: object): Promise<T> {
  const program = new URL('./measure-read-memory.ts', import.meta.url).pathname
  const { stdout } = await promisify(execFile)(process.execPath, [flag, program, JSON.stringify(reading)])
  return JSON.parse(stdout)
}

/** Starts a stand-in and opens the sources as the service does. Records all messages. */
export async function openFixture(fixture: ConnectorFixture, warehouse: Warehouse) {
  const standIn: StandIn = await fixture.start()
  const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-conformance-'))
  // As in a worker: a load that starts a thread for each of its tables takes twice the time.
  const threads = keepReaderThreads()
  const { module } = fixture
  const systems = module === undefined ? {} : { [fixture.type]: module }
  const sources = createConnectorRegistry({ filesDirectory, allowed: allowedLoopback, retryPolicy: fastRetry, systems })
  const target = word('people_')
  const recorder = createRecorder()
  const { messages, rejected, report } = recorder

  const reading = (changes: { secrets?: Record<string, string>; settings?: object } = {}) => ({
    type: fixture.type,
    settings: { ...standIn.settings, ...changes.settings },
    secrets: changes.secrets ?? standIn.secrets,
    input: {},
    table: target,
  })
  async function load(
    mode: 'FULL' | 'INCREMENTAL' = 'FULL',
    signal = never,
    changes: Parameters<typeof reading>[0] = {},
  ) {
    const { sourceShape: previousShape } = await warehouse.loader.findLastLoad('health', target)
    const request = { ...reading(changes), ...(previousShape && { previousShape }) }
    return await recorder.load({ sources, warehouse, reading: request, table: target, mode, signal })
  }

  return {
    ...standIn,
    sources,
    filesDirectory,
    reading,
    report,
    load,
    rejected,
    messages,
    never,
    /** The pipeline's own table. */
    target,
    cursor: async () => (await warehouse.loader.findLastLoad('health', target)).cursor,
    /** Of the records themselves. */
    table: `${target}${fixture.table ?? ''}`,
    groupTable: `${target}${fixture.table ?? ''}${fixture.group?.table ?? ''}`,
    pages: () => standIn.server.requests.filter(standIn.isPageRequest),
    async [Symbol.asyncDispose]() {
      threads[Symbol.dispose]()
      await standIn.server[Symbol.asyncDispose]()
      await rm(filesDirectory, { recursive: true, force: true })
    },
  }
}

export type FixtureHarness = Awaited<ReturnType<typeof openFixture>>
