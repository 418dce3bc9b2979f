import { guardedFetch, type OutgoingAllowList } from '@sluice/http-client'
import { spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import type { CompleteSourceKind } from '../lazy-source.ts'
import type { SourceReading } from '../connector.ts'
import type { LoadReport } from '@sluice/row-stream'
import { openHttpSession } from './http-session.ts'
import { interactiveRetry, type RetryPolicy, backgroundRetry } from './retry-policy.ts'
import { canReadIncrement, readSystem } from './read-system.ts'
import type { SystemContext, HttpSystem } from './http-system.ts'
import { maxInteractiveValues } from './exact-json.ts'
import { type ReadingLog, createReadingLog } from './read-reporter.ts'

export interface SystemOptions {
  filesDirectory: string
  /** Addresses inside the network that the operator allows users to reach. */
  allowed: OutgoingAllowList
  retryPolicy?: RetryPolicy
}

/** Timeouts in milliseconds: for one complete response, and for a connection. */
const responseTimeoutMs = 300_000
const connectTimeoutMs = 10_000
/** Maximum bytes of a response in memory, and of a response that is downloaded to disk. */
const maxResponseBytes = 32_000_000
const maxDownloadBytes = 8_000_000_000

const interactiveOptions = { retryPolicy: interactiveRetry, maxValues: maxInteractiveValues }

interface SessionOptions {
  signal: AbortSignal
  retryPolicy: RetryPolicy
  report?: LoadReport
  maxValues?: number
}

/** Turns an HTTP system into a source. Its module is imported at the first use. */
export function systemSource(load: () => Promise<HttpSystem>, parts: SystemOptions): CompleteSourceKind {
  const { filesDirectory, allowed, retryPolicy = backgroundRetry } = parts
  const directory = spoolDirectory(filesDirectory)

  /** Opens a session for `work` and closes all connections afterwards. */
  async function* withSession<T>(
    reading: SourceReading,
    { signal, retryPolicy, report = silentReport, maxValues }: SessionOptions,
    work: (system: HttpSystem, asking: SystemContext, told: ReadingLog) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, void> {
    signal.throwIfAborted()
    const system = await load()
    const { settings, secrets } = reading
    const told = createReadingLog(report)
    const held = guardedFetch({
      allowed,
      timeLimit: responseTimeoutMs,
      connectLimit: connectTimeoutMs,
      maxBytes: maxResponseBytes,
      handOnRedirects: true,
    })
    const large = guardedFetch({
      allowed,
      timeLimit: 4 * responseTimeoutMs,
      connectLimit: connectTimeoutMs,
      maxBytes: maxDownloadBytes,
      handOnRedirects: true,
    })
    const http = openHttpSession(system.connect(settings, secrets), {
      fetch: held,
      downloads: large,
      system: system.name,
      secrets: Object.values(secrets),
      retryPolicy,
      ...(maxValues !== undefined && { maxValues }),
      directory,
      signal,
      onBytes: (bytes) => told.bytes(bytes),
      onRetry(problem, seconds) {
        told.log('WARN', 'LOW', `${problem.message} (${problem.code}; asked again in ${Math.ceil(seconds)} seconds)`)
      },
      onAlive: () => told.alive(),
    })
    try {
      yield* work(
        system,
        { http, settings, secrets, query: reading.query, within: reading.within, signal, log: told.log },
        told,
      )
    } finally {
      await http.signOut()
      await Promise.all([held.close(), large.close()])
    }
  }

  return {
    async increments(reading) {
      return canReadIncrement(await load(), reading)
    },
    async cursor() {
      const { increments, cursorAt } = await load()
      return !increments ? 'NONE' : cursorAt ? 'MOMENT' : 'OPAQUE'
    },
    read: (reading, report, signal) =>
      withSession(reading, { signal, retryPolicy, report }, (system, asking, told) =>
        readSystem({ system, asking, reading, directory, told }),
      ),
    async test(reading, signal) {
      await firstValue(
        withSession(reading, { signal, ...interactiveOptions }, (system, asking) => yieldOne(system.test(asking))),
      )
    },
    lookup: (kind, reading, signal) =>
      firstValue(
        withSession(reading, { signal, ...interactiveOptions }, (system, asking) =>
          yieldOne(system.lookup?.(kind, asking)),
        ),
      ),
    preview: (reading, rows, signal) =>
      previewFeed(
        (report, stopping) =>
          withSession(reading, { signal: stopping, ...interactiveOptions, report }, (system, asking, told) =>
            readSystem({ system, asking, reading, directory, told, most: rows }),
          ),
        rows,
        signal,
      ),
  }
}

const silentReport: LoadReport = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

async function* yieldOne<T>(value: Promise<T> | undefined): AsyncGenerator<T | undefined, void, void> {
  yield await value
}

async function firstValue<T>(values: AsyncIterable<T>): Promise<T | undefined> {
  for await (const value of values) return value
  return undefined
}
