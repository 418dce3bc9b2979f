import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outgoingAllowed } from '@sluice/http-client'
import { type ScratchWarehouse, scratchWarehouse } from '@sluice/warehouses/testing/scratch-warehouse'
import { loadRowStreams, type LoadedTable } from '@sluice/warehouses/load-row-streams'
import { keepReaderThreads } from '@sluice/file-formats/start-reader-thread'
import type { ReadRequest, Connector } from '../../connector.ts'
import type { RejectedRow, ReadReporter } from '@sluice/row-stream'
import { createAzureConnector } from '../../azure-blob/azure-connector.ts'
import { createS3Connector } from '../../s3/s3-connector.ts'
import type { StoreContext } from '../object-store-connector.ts'

export const never = new AbortController().signal
export const word = (prefix: string): string => prefix + randomBytes(6).toString('hex')

/** Hosts of this machine, which only an operator opens. */
export const onlyHere = outgoingAllowed().parse('127.0.0.1')

/** The connectors of both kinds of stores. */
export const objectStores = (context: StoreContext) => ({
  OBJECT_STORAGE_BUCKET: createS3Connector(context),
  CLOUD_BLOB_STORAGE: createAzureConnector(context),
})

/** A report that remembers. */
export function listener() {
  const heard = { rejected: [] as RejectedRow[], logs: [] as string[], begun: 0, totals: {} as Record<string, number> }
  const report: ReadReporter = {
    progress: (totals) => void Object.assign(heard.totals, totals),
    reject: (row) => void heard.rejected.push(row),
    rejectMore: () => {},
    async startOver() {
      heard.begun += 1
      heard.rejected = []
    },
    log: (_level, _importance, message) => void heard.logs.push(message),
  }
  return { heard, report }
}

export interface Loading extends AsyncDisposable {
  scratch: ScratchWarehouse
  filesDirectory: string
  kinds: Record<string, Connector>
  /** Loads a reading into the table, and answers what was published and heard. */
  load(
    reading: ReadRequest,
    table?: string,
    mode?: 'FULL' | 'INCREMENTAL',
  ): Promise<{ tables: LoadedTable[]; heard: ReturnType<typeof listener>['heard'] }>
  /** The rows of a table as texts, in the order of all their columns. */
  rows(table?: string): Promise<(string | null)[][]>
  columns(table?: string): Promise<string[]>
}

/** Object stores on the one side and a warehouse on the other, with short retry delays. */
export async function openLoading({ spoolBytes = 64 * 1024 * 1024 } = {}): Promise<Loading> {
  const scratch = await scratchWarehouse()
  await scratch.warehouse.catalog.ensureSchema('health')
  const filesDirectory = await mkdtemp(join(tmpdir(), 'sluice-objects-'))
  // As in a worker.
  const threads = keepReaderThreads()
  const retryPolicy = { attempts: 4, firstDelay: 0.005, maxDelay: 0.05 }
  // Small parts, so that small objects have many.
  const limits = { partBytes: 64 * 1024, concurrency: 3, maxObjectBytes: 64 * 1024 * 1024, spoolBytes }
  const kinds: Record<string, Connector> = objectStores({ filesDirectory, allowed: onlyHere, retryPolicy, limits })
  const loading: Loading = {
    scratch,
    filesDirectory,
    kinds,
    async load(asked, table = 'target', mode = 'FULL') {
      const { heard, report } = listener()
      const cursor = (await scratch.warehouse.loader.findLastLoad('health', table)).cursor
      const reading: ReadRequest = { ...asked, mode, table, ...(cursor !== undefined && { cursor }) }
      const merged = mode === 'INCREMENTAL' && (await kinds[reading.type]!.canReadIncrement!(reading))
      const tables = await loadRowStreams({
        rowStreams: kinds[reading.type]!.read(reading, report, never),
        warehouse: scratch.warehouse,
        target: { schema: 'health', table },
        run: word('run'),
        attempt: 1,
        isCurrentAttempt: async () => true,
        signal: never,
        rejected: () => ({ count: heard.rejected.length }),
        ...(merged && { mode: 'MERGE' as const }),
        shape: { definition: JSON.stringify(reading.settings) },
      })
      return { tables, heard }
    },
    async rows(table = 'target') {
      const names = await loading.columns(table)
      const texts = names.map((name) => `"${name.split(' ')[0]}"::text`).join(', ')
      const text = `set timezone = 'UTC'; select ${texts} from health."${table}" order by ${names.map((_, at) => at + 1).join(', ')}`
      const found = (await scratch.superuser.query({ text, rowMode: 'array' })) as unknown as { rows: string[][] }[]
      return found[1]!.rows
    },
    async columns(table = 'target') {
      const found = await scratch.warehouse.catalog.findTable('health', table)
      return (found?.columns ?? []).map(({ name, dataType }) => `${name} ${dataType}`)
    },
    async [Symbol.asyncDispose]() {
      threads[Symbol.dispose]()
      await scratch[Symbol.asyncDispose]()
      await rm(filesDirectory, { recursive: true, force: true })
    },
  }
  return loading
}
