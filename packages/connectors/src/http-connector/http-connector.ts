import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import { spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { backgroundRetry, guardedFetch, interactiveRetry, type RetryPolicy } from '@sluice/http-client'
import type { ReadReporter } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest } from '../connector.ts'
import { maxInteractiveValues } from './exact-json.ts'
import { openHttpSession } from './http-session.ts'
import type { HttpSystem, SystemContext } from './http-system-interface.ts'
import { createTablesReporter, type TablesReporter } from './read-reporter.ts'
import { canReadIncrement, readSystem } from './read-system.ts'

/** The time limits for a complete response and for opening a connection. */
const responseTimeoutMs = 300_000
const connectTimeoutMs = 10_000
/** The maximum bytes of a response in memory, and of a response that is downloaded to disk. */
const maxResponseBytes = 32_000_000
const maxDownloadBytes = 8_000_000_000

interface SessionOptions {
  signal: AbortSignal
  retryPolicy: RetryPolicy
  report?: ReadReporter
  maxValues?: number
}

/** Options for requests for which a user waits. */
const interactiveOptions = { retryPolicy: interactiveRetry, maxValues: maxInteractiveValues }

/** Returns the system for a pipeline's source type and settings. Its module is imported at the first use. */
export type LoadSystem = (settings: unknown) => Promise<HttpSystem>

/** Creates a connector that reads an HTTP system. */
export function createHttpConnector(
  loadSystem: LoadSystem,
  { filesDirectory, allowed, retryPolicy = backgroundRetry }: ConnectorContext,
): Connector {
  const directory = spoolDirectory(filesDirectory)

  /** Runs `work` with an open session and yields its values. Afterwards closes the session and all connections. */
  async function* withSession<T>(
    request: ReadRequest,
    { signal, retryPolicy, report = silentReporter, maxValues }: SessionOptions,
    work: (system: HttpSystem, context: SystemContext, reporter: TablesReporter) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, void> {
    signal.throwIfAborted()
    const { settings, secrets, query, within } = request
    const system = await loadSystem(settings)
    const reporter = createTablesReporter(report)
    const fetchOptions = { allowed, connectLimit: connectTimeoutMs, returnRedirects: true }
    const fetch = guardedFetch({ ...fetchOptions, timeLimitMs: responseTimeoutMs, maxBytes: maxResponseBytes })
    const downloads = guardedFetch({ ...fetchOptions, timeLimitMs: 4 * responseTimeoutMs, maxBytes: maxDownloadBytes })
    const http = openHttpSession(system.connect(settings, secrets), {
      fetch,
      downloads,
      system: system.name,
      secrets: Object.values(secrets),
      retryPolicy,
      ...(maxValues !== undefined && { maxValues }),
      directory,
      signal,
      onBytes: reporter.addBytes,
      onRetry: ({ message, code }, seconds) =>
        reporter.log('WARN', 'LOW', `${message} (${code}; retried in ${Math.ceil(seconds)} seconds)`),
      onAlive: reporter.reportActivity,
    })
    try {
      yield* work(system, { http, settings, secrets, query, within, signal, log: reporter.log }, reporter)
    } finally {
      await http.signOut()
      await Promise.all([fetch.close(), downloads.close()])
    }
  }

  return {
    async canReadIncrement(reading) {
      return canReadIncrement(await loadSystem(reading.settings), reading)
    },
    async getCursorKind(settings) {
      const system = await loadSystem(settings)
      if (system.canReadIncrement?.(settings) !== true) return 'NONE'
      return system.createCursor?.(anyMoment, settings) === undefined ? 'OPAQUE' : 'MOMENT'
    },
    read: (reading, report, signal) =>
      withSession(reading, { signal, retryPolicy, report }, (system, context, reporter) =>
        readSystem({ system, context, reading, directory, reporter }),
      ),
    async testConnection(reading, signal) {
      await firstValue(
        withSession(reading, { signal, ...interactiveOptions }, (system, context) =>
          yieldOne(system.testConnection(context)),
        ),
      )
    },
    listOptions: (kind, reading, signal) =>
      firstValue(
        withSession(reading, { signal, ...interactiveOptions }, (system, context) =>
          yieldOne(system.listOptions?.(kind, context)),
        ),
      ),
    preview: (reading, rows, signal) =>
      previewFeed(
        (report, previewSignal) =>
          withSession(reading, { signal: previewSignal, ...interactiveOptions, report }, (system, context, reporter) =>
            readSystem({ system, context, reading, directory, reporter, maxRecords: rows }),
          ),
        rows,
        signal,
      ),
  }
}

/** Any timestamp. It is used to find out whether the cursors of a system are timestamps. */
const anyMoment = '2026-01-01T00:00:00.000Z'

const silentReporter: ReadReporter = {
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
