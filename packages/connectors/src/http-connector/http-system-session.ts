import { spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { backgroundRetry, ssrfSafeFetch, type OutgoingAllowList, type RetryPolicy } from '@sluice/http-client'
import type { ReadRequest } from '../connector.ts'
import { openHttpSession } from './http-session.ts'
import type { HttpSystem, SystemContext } from './http-system.ts'
import type { TablesReporter } from './tables-reporter.ts'
import { type SpooledSystem, spoolSystem } from './spool-http-system.ts'

/** Timeouts of one complete response, of a download to disk, and of opening a connection. */
const responseTimeoutMs = 300_000
const downloadTimeoutMs = 1_200_000
const connectTimeoutMs = 10_000
/** Maximum bytes of a response in memory, and of a response that is downloaded to disk. */
const maxResponseBytes = 32_000_000
const maxDownloadBytes = 8_000_000_000

export interface SessionOptions {
  filesDirectory: string
  allowed: OutgoingAllowList
  signal: AbortSignal
  reporter: TablesReporter
  retryPolicy?: RetryPolicy | undefined
  /** Maximum number of JSON values of a response. */
  maxValues?: number | undefined
}

/** Returns the result of `useSession`, which gets an open session. Signs out and closes all connections afterwards. */
export async function withSession<T>(
  system: HttpSystem,
  { settings, secrets, query, within }: ReadRequest,
  { filesDirectory, allowed, signal, reporter, retryPolicy = backgroundRetry, maxValues }: SessionOptions,
  useSession: (context: SystemContext) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const fetchOptions = { allowed, connectLimit: connectTimeoutMs, returnRedirects: true }
  const fetch = ssrfSafeFetch({ ...fetchOptions, timeLimitMs: responseTimeoutMs, maxBytes: maxResponseBytes })
  const downloads = ssrfSafeFetch({ ...fetchOptions, timeLimitMs: downloadTimeoutMs, maxBytes: maxDownloadBytes })
  const http = openHttpSession(system.connect(settings, secrets), {
    fetch,
    downloads,
    system: system.name,
    secrets: Object.values(secrets),
    retryPolicy,
    ...(maxValues !== undefined && { maxValues }),
    directory: spoolDirectory(filesDirectory),
    signal,
    onBytes: reporter.addBytes,
    onRetry: ({ message, code }, seconds) =>
      reporter.log('WARN', 'LOW', `${message} (${code}; retried in ${Math.ceil(seconds)} seconds)`),
    onAlive: reporter.reportActivity,
  })
  try {
    return await useSession({ http, settings, secrets, query, within, signal, log: reporter.log })
  } finally {
    await http.signOut()
    await Promise.all([fetch.close(), downloads.close()])
  }
}

type SpoolOptions = SessionOptions & { maxRecords?: number }

/** Opens a session, and reads all streams of a system to disk. The caller must close the files. */
export const spoolRecords = (
  system: HttpSystem,
  request: ReadRequest,
  { maxRecords, ...options }: SpoolOptions,
): Promise<SpooledSystem> =>
  withSession(system, request, options, (context) =>
    spoolSystem({
      system,
      context,
      request,
      directory: spoolDirectory(options.filesDirectory),
      reporter: options.reporter,
      maxRecords,
    }),
  )
