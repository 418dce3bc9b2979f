import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allowedHere } from './allowed-here.ts'
import { systemIn } from './system-in.ts'
import { keepReaderThreads } from '@sluice/file-formats/upload/keep-reader-threads'
import { loadFeeds } from '@sluice/warehouses/load-feeds'
import type { RejectedRow, LoadReport } from '@sluice/row-stream'
import { createSourceRegistry } from '../src/registry/source-registry.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { word } from '@sluice/warehouses/testing/scratch-warehouse'
import type { Scene, StandIn } from './scene.ts'

/** Hundredths of seconds: what is tested is that it is asked again, not how long that takes. */
export const hasty = { attempts: 4, firstDelay: 0.01, maxDelay: 0.05 }

export const silent: LoadReport = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

/** A stand-in that is asked as the service does, with everything that is said on the way. */
export async function openScene(scene: Scene, warehouse: Warehouse) {
  const standIn: StandIn = await scene.start()
  const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-conformance-'))
  // As in a worker: a load that starts a thread for each of its tables takes twice the time.
  const threads = keepReaderThreads()
  const { module } = scene
  const systems = module === undefined ? {} : systemIn(scene.type, module)
  const sources = createSourceRegistry({ filesDirectory, allowed: allowedHere, retryPolicy: hasty, systems })
  const target = word('people_')
  const said: string[] = []
  const rejected: RejectedRow[] = []
  const never = new AbortController().signal

  const reading = (changes: { secrets?: Record<string, string>; settings?: object } = {}) => ({
    type: scene.type,
    settings: { ...standIn.settings, ...changes.settings },
    secrets: changes.secrets ?? standIn.secrets,
    input: {},
    table: target,
  })
  const report: LoadReport = {
    ...silent,
    reject: (row) => void (rejected.push(row), said.push(row.raw, row.reason)),
    startOver: async () => void (rejected.length = 0),
    log: (_level, _importance, message) => void said.push(message),
  }

  /** As a worker does. */
  async function load(
    mode: 'FULL' | 'INCREMENTAL' = 'FULL',
    signal = never,
    changes: Parameters<typeof reading>[0] = {},
  ) {
    rejected.length = 0
    const cursor = await warehouse.loader.findCursor('health', target)
    const remembered = await warehouse.loader.findFeed('health', target)
    const known = { ...(cursor !== undefined && { cursor }), ...(remembered && { remembered }) }
    const asked = { ...reading(changes), mode, ...known }
    const merged = mode === 'INCREMENTAL' && (await sources.increments(asked))
    try {
      return await loadFeeds({
        feeds: sources.read(asked, report, signal),
        warehouse,
        target: { schema: 'health', table: target },
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
  }

  return {
    ...standIn,
    sources,
    filesDirectory,
    reading,
    report,
    load,
    rejected,
    said,
    never,
    /** The pipeline's own table, and what is kept with it. */
    target,
    cursor: () => warehouse.loader.findCursor('health', target),
    /** Of the records themselves. */
    table: `${target}${scene.table ?? ''}`,
    groupTable: `${target}${scene.table ?? ''}${scene.group?.table ?? ''}`,
    pages: () => standIn.server.requests.filter(standIn.isPage),
    async [Symbol.asyncDispose]() {
      threads[Symbol.dispose]()
      await standIn.server[Symbol.asyncDispose]()
      await rm(filesDirectory, { recursive: true, force: true })
    },
  }
}

export type OpenScene = Awaited<ReturnType<typeof openScene>>
