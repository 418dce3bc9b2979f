import { Problem } from '@sluice/http-server'
import { Semaphore } from '@sluice/process'
import { ExportSpool } from './export-spool.ts'
import type { ExportReadLimits } from './limit-export-reads.ts'

export interface ExportLimits {
  /** The maximum disk space in bytes of all exports of this process. Each organisation may use half of it. */
  diskBytes: number
  /**
   * Milliseconds for which an export stays after its last reader has left, so that a reader that lost the connection
   * can continue.
   */
  idleMs: number
  /** Milliseconds after which an export ends, even if someone is still reading it. */
  maxAgeMs: number
  /**
   * Timeouts in milliseconds: for the source to send the next rows (default 5 minutes), and for reading it to its end
   * (default 31 minutes).
   */
  silenceMs?: number
  readMs?: number
}

/** Slightly longer than the timeout of the warehouse, because a function written by a user can catch that one. */
const defaultReadMs = 31 * 60_000
const defaultSilenceMs = 5 * 60_000

/** An export, which is complete or still being written. */
export interface RunningExport {
  spool: ExportSpool
  /** Counts a reader until it detaches. The export ends `idleMs` after its last reader has detached. */
  attach(): { detach(): void }
}

interface ExportRequest {
  /** The uid of the organisation. */
  client: string
  /**
   * A string that identifies the caller, the rows and the format. A request with the same key can continue the export.
   * If undefined, the export cannot be continued and ends with its reader.
   */
  key: string | undefined
  /**
   * Aborts when the caller disconnects. It is used only until the first byte; afterwards, readers attach and detach.
   */
  signal: AbortSignal
  /** Reads the rows and yields the bytes of the file. It runs at full speed, even if the caller reads slowly. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>
}

export interface RunningExports {
  readonly readLimits: ExportReadLimits
  /**
   * Returns the export with this key and id. If `id` is undefined, returns the only export with the key. Returns
   * undefined unless exactly one matches.
   */
  find(key: string, id: string | undefined): RunningExport | undefined
  /**
   * Starts an export when the organisation has a free slot. Throws the error of `read` if it fails before its first
   * byte, `SemaphoreBusy` after waiting 15 seconds for a slot, and 503 if the disk share is used up.
   */
  start(request: ExportRequest): Promise<RunningExport>
}

/**
 * Creates the exports of this process. Each export writes the rows to a temporary file at full speed, because the next
 * load cannot replace a table while it is being read. The caller reads the file at its own speed.
 */
export function createRunningExports(directory: string, limits: ExportLimits): RunningExports {
  const running = new Map<string, Set<RunningExport>>()
  const bytesByClient = new Map<string, number>()
  let bytesOfAll = 0
  /** Limits exports that read rows at the same time, because each may use a thread for encoding. */
  const slots = new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs: 15_000,
    title: 'Too many exports of your organisation are being read.',
  })

  /** Adds to the number of bytes on disk. `bytes` is negative when disk space is freed. */
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

  /** Makes an export available to `find`, unless it has no key. */
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
      // Avoid an unhandled rejection: the rejection is handled below, but possibly after it occurs.
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
          // An export without any bytes has started successfully too.
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
        // Free the bytes only when the writer has ended, because it may still be writing.
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
      // The caller may have disconnected while the export waited for its slot.
      if (signal.aborted) cancel()
      try {
        await firstBytes.promise
      } catch (error) {
        // If another request has attached to the export, it continues for that request.
        if (attachedClients === 0) end()
        throw error
      } finally {
        signal.removeEventListener('abort', cancel)
      }
      return started
    },
  }
}

/** Opens a temporary file for an export. If that fails, frees the slot and throws; 503 if the disk is full. */
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
