import { Problem } from '@sluice/http-server'
import { Semaphore } from '@sluice/process'
import { ExportSpool } from './export-spool.ts'
import type { ExportReadLimits } from './limit-reading.ts'

export interface ExportLimits {
  /** Bytes on disk of all exports of this process; each organisation may use half of them. */
  diskBytes: number
  /** Milliseconds for which an export without a client stays, so that a client that lost its connection can continue it. */
  idleMs: number
  /** Milliseconds after which an export ends, even if a client still reads it. */
  maxAgeMs: number
  /** Milliseconds for which the source may send nothing after its first rows, and for reading it to its end. Default: 5 and 31 minutes. */
  silenceMs?: number
  readMs?: number
}

/** A little more than the time limit of the warehouse, which a function of a user can catch. */
const defaultReadMs = 31 * 60_000
const defaultSilenceMs = 5 * 60_000

/** An export. Its bytes are in a spool, or are being written to it. */
export interface RunningExport {
  spool: ExportSpool
  /** Counts a client until it detaches. The export ends `idleMs` after its last client has detached. */
  attach(): { detach(): void }
}

interface ExportRequest {
  /** The uid of the client. */
  client: string
  /**
   * Identifies the caller, the rows and the format: a request with the same key can continue the export. Without a key, nothing can
   * continue the export, and it ends with its client.
   */
  key: string | undefined
  /** Aborts when the client disconnects. It counts until the first byte; then clients attach and detach. */
  signal: AbortSignal
  /** Reads the rows and yields the bytes of the file. Runs at full speed, even if the client reads slowly. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>
}

export interface RunningExports {
  readonly readLimits: ExportReadLimits
  /** Returns the export with this id; without an id, the only export of the key. Undefined unless exactly one fits. */
  find(key: string, id: string | undefined): RunningExport | undefined
  /**
   * Starts an export when the client has a free slot. Throws the error of `read` if it fails before its first byte, SemaphoreBusy
   * after 15 seconds without a slot, and 503 if the disk share is used up.
   */
  start(request: ExportRequest): Promise<RunningExport>
}

/**
 * Returns the exports of this process. Each export writes the rows to a spool at full speed, because the next load of a
 * table cannot replace it while it is being read. The client reads the spool at its own speed.
 */
export function createRunningExports(directory: string, limits: ExportLimits): RunningExports {
  const running = new Map<string, Set<RunningExport>>()
  const bytesByClient = new Map<string, number>()
  let bytesOfAll = 0
  /** Exports that read at the same time. Each may use a thread that encodes. */
  const slots = new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs: 15_000,
    title: 'Too many exports of your organisation are being read.',
  })

  /** Counts bytes on disk; negative when they are freed. */
  function countBytes(client: string, bytes: number): void {
    const clientBytes = (bytesByClient.get(client) ?? 0) + bytes
    bytesOfAll += bytes
    if (clientBytes > 0) bytesByClient.set(client, clientBytes)
    else bytesByClient.delete(client)
  }

  function assertSpace(client: string): void {
    const clientBytes = bytesByClient.get(client) ?? 0
    if (clientBytes > limits.diskBytes / 2 || bytesOfAll > limits.diskBytes) throw createSpaceProblem()
  }

  /** Makes an export findable, unless it has no key. */
  function addRunning(key: string | undefined, started: RunningExport): void {
    if (key === undefined) return
    const exportsOfKey = running.get(key)
    if (exportsOfKey) exportsOfKey.add(started)
    else running.set(key, new Set([started]))
  }

  function removeRunning(key: string | undefined, endedExport: RunningExport): void {
    if (key === undefined) return
    const exportsOfKey = running.get(key)
    exportsOfKey?.delete(endedExport)
    if (exportsOfKey?.size === 0) running.delete(key)
  }

  return {
    readLimits: { silenceMs: limits.silenceMs ?? defaultSilenceMs, readMs: limits.readMs ?? defaultReadMs },

    find(key, id) {
      const exportsOfKey = [...(running.get(key) ?? [])]
      const matches = id === undefined ? exportsOfKey : exportsOfKey.filter(({ spool }) => spool.id === id)
      return matches.length === 1 ? matches[0] : undefined
    },

    async start({ client, key, signal, read }) {
      signal.throwIfAborted()
      assertSpace(client)
      const slot = await slots.acquire(client, { signal })
      const spool = openExportSpool(directory, slot)
      const stop = new AbortController()
      const firstBytes = Promise.withResolvers<void>()
      // The rejection is handled below, but perhaps later than it happens.
      firstBytes.promise.catch(() => {})
      let countedBytes = 0
      let attachedClients = 0
      let hasEnded = false
      let idleTimer: NodeJS.Timeout | undefined
      const ageTimer = setTimeout(() => end(), limits.maxAgeMs).unref()

      const fill = async () => {
        try {
          for await (const bytes of read(stop.signal)) {
            stop.signal.throwIfAborted()
            countBytes(client, bytes.length)
            countedBytes += bytes.length
            await spool.append(bytes)
            assertSpace(client)
            firstBytes.resolve()
          }
          spool.complete()
          // An export without bytes has started too.
          firstBytes.resolve()
        } catch (error) {
          const reason = isDiskFull(error) ? createSpaceProblem() : error
          removeRunning(key, started)
          spool.fail(reason)
          firstBytes.reject(reason)
        } finally {
          slot[Symbol.dispose]()
        }
      }
      const end = () => {
        if (hasEnded) return
        hasEnded = true
        clearTimeout(ageTimer)
        removeRunning(key, started)
        stop.abort(new Error('The export has ended.'))
        spool[Symbol.dispose]()
        // The writer may still be busy with its last bytes.
        void filled.then(() => countBytes(client, -countedBytes))
      }
      const started: RunningExport = {
        spool,
        attach() {
          attachedClients += 1
          clearTimeout(idleTimer)
          let isAttached = true
          return {
            detach() {
              if (!isAttached) return
              isAttached = false
              attachedClients -= 1
              if (attachedClients > 0) return
              if (key === undefined) end()
              else idleTimer = setTimeout(end, limits.idleMs).unref()
            },
          }
        },
      }
      addRunning(key, started)
      const filled = fill()
      const cancel = () => firstBytes.reject(signal.reason)
      signal.addEventListener('abort', cancel, { once: true })
      // The client may have disconnected while the export waited for its slot.
      if (signal.aborted) cancel()
      try {
        await firstBytes.promise
      } catch (error) {
        // Another request may have attached to the export; then it goes on for that request.
        if (attachedClients === 0) end()
        throw error
      } finally {
        signal.removeEventListener('abort', cancel)
      }
      return started
    },
  }
}

/** Opens a spool. If that fails, frees the slot and throws; 503 if the disk is full. */
function openExportSpool(directory: string, slot: Disposable): ExportSpool {
  try {
    return new ExportSpool(directory)
  } catch (error) {
    slot[Symbol.dispose]()
    throw isDiskFull(error) ? createSpaceProblem() : error
  }
}

const isDiskFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG', 'DISK_FULL'].includes((error as { code?: string }).code ?? '')

const createSpaceProblem = () =>
  new Problem(503, 'busy', 'The disk space for exports is used up.', {
    detail:
      'Wait until running downloads have ended, or export fewer rows or columns. An operator can raise EXPORT_DISK_LIMIT.',
    headers: { 'Retry-After': '60' },
  })
