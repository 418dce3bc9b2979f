import { Problem } from '@sluice/http-server'
import { ExportSpool } from './export-spool.ts'

export interface ExportLimits {
  /** Bytes on disk of all exports of this process; each organisation may use half of them. */
  diskBytes: number
  /** Milliseconds for which an export without a client stays, so that a client that lost its connection can continue it. */
  idleMs: number
}

/** An export. Its bytes are in a spool, or are being written to it. */
export interface RunningExport {
  spool: ExportSpool
  /**
   * Counts a client until it detaches. The export ends when its last client has detached: at once if that client has all it needs,
   * otherwise after `idleMs`.
   */
  attach(): { detach(isDone: boolean): void }
}

interface ExportRequest {
  /** The uid of the client. */
  client: string
  /** Identifies the caller, the rows and the format: a request with the same key continues the export. */
  key: string
  /** Aborts when the client disconnects. It counts until the first byte; then clients attach and detach. */
  signal: AbortSignal
  /** Reads the rows and yields the bytes of the file. Runs at full speed, even if the client reads slowly. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>
}

export interface RunningExports {
  find(key: string): RunningExport | undefined
  /** Starts an export. Throws the error of `read` if it fails before its first byte, and 503 if the disk share is used up. */
  start(request: ExportRequest): Promise<RunningExport>
}

/**
 * Returns the exports of this process. Each export writes the rows to a spool at full speed, because the next load of a
 * table cannot replace it while it is being read. The client reads the spool at its own speed.
 */
export function createRunningExports(directory: string, limits: ExportLimits): RunningExports {
  const running = new Map<string, RunningExport>()
  const bytesByClient = new Map<string, number>()
  let bytesOfAll = 0

  function reserve(client: string, bytes: number): void {
    const own = (bytesByClient.get(client) ?? 0) + bytes
    bytesOfAll += bytes
    if (own > 0) bytesByClient.set(client, own)
    else bytesByClient.delete(client)
  }

  function assertSpace(client: string): void {
    const own = bytesByClient.get(client) ?? 0
    if (own > limits.diskBytes / 2 || bytesOfAll > limits.diskBytes) throw noSpace()
  }

  return {
    find: (key) => running.get(key),

    async start({ client, key, signal, read }) {
      assertSpace(client)
      const spool = openExportSpool(directory)
      const stop = new AbortController()
      const first = Promise.withResolvers<void>()
      let reservedBytes = 0
      let clients = 0
      let timer: NodeJS.Timeout | undefined

      const fill = async () => {
        try {
          for await (const bytes of read(stop.signal)) {
            stop.signal.throwIfAborted()
            reserve(client, bytes.length)
            reservedBytes += bytes.length
            await spool.append(bytes)
            assertSpace(client)
            first.resolve()
          }
          spool.complete()
          first.resolve()
        } catch (error) {
          const reason = isDiskFull(error) ? noSpace() : error
          spool.fail(reason)
          first.reject(reason)
        }
      }
      const end = () => {
        if (running.get(key) === started) running.delete(key)
        stop.abort(new Error('No client reads the export any more.'))
        spool[Symbol.dispose]()
        // The writer may still be busy with its last bytes.
        void filled.then(() => reserve(client, -reservedBytes))
      }
      const started: RunningExport = {
        spool,
        attach() {
          clients += 1
          clearTimeout(timer)
          let isAttached = true
          return {
            detach(isDone) {
              if (!isAttached) return
              isAttached = false
              clients -= 1
              if (clients > 0) return
              if (isDone) end()
              else timer = setTimeout(end, limits.idleMs).unref()
            },
          }
        },
      }
      running.set(key, started)
      const filled = fill()
      const cancel = () => first.reject(signal.reason)
      signal.addEventListener('abort', cancel, { once: true })
      try {
        signal.throwIfAborted()
        await first.promise
      } catch (error) {
        end()
        throw error
      } finally {
        signal.removeEventListener('abort', cancel)
      }
      return started
    },
  }
}

/** Throws 503 if the disk is full. */
function openExportSpool(directory: string): ExportSpool {
  try {
    return new ExportSpool(directory)
  } catch (error) {
    throw isDiskFull(error) ? noSpace() : error
  }
}

const isDiskFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG', 'DISK_FULL'].includes((error as { code?: string }).code ?? '')

const noSpace = () =>
  new Problem(503, 'busy', 'The disk space for exports is used up.', {
    detail:
      'Wait until running downloads have ended, or export fewer rows or columns. An operator can raise EXPORT_DISK_LIMIT.',
    headers: { 'Retry-After': '60' },
  })
