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

    async start({ client, key, read }) {
      assertSpace(client)
      const spool = new ExportSpool(directory)
      const stop = new AbortController()
      const first = Promise.withResolvers<void>()
      let clients = 0
      let timer: NodeJS.Timeout | undefined

      const end = () => {
        if (running.get(key) === started) running.delete(key)
        stop.abort(new Error('No client reads the export any more.'))
        reserve(client, -spool.length)
        spool[Symbol.dispose]()
      }
      const fill = async () => {
        try {
          for await (const bytes of read(stop.signal)) {
            stop.signal.throwIfAborted()
            reserve(client, bytes.length)
            await spool.append(bytes)
            assertSpace(client)
            first.resolve()
          }
          spool.complete()
        } catch (error) {
          spool.fail(error)
          first.reject(error)
        }
        first.resolve()
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
      void fill()
      try {
        await first.promise
      } catch (error) {
        end()
        throw error
      }
      return started
    },
  }
}

const noSpace = () =>
  new Problem(503, 'busy', 'The disk space for exports is used up.', {
    detail:
      'Wait until running downloads have ended, or export fewer rows or columns. An operator can raise EXPORT_DISK_LIMIT.',
    headers: { 'Retry-After': '60' },
  })
