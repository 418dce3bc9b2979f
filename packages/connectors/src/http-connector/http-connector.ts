import { previewRowStream } from '@sluice/file-formats/preview/preview-row-stream'
import { spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { interactiveRetry } from '@sluice/http-client'
import { type ReadReporter, type RowStream, silentReporter } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest } from '../connector.ts'
import { maxInteractiveValues } from './exact-json.ts'
import type { HttpSystem, SystemContext } from './http-system.ts'
import { createTablesReporter, type TablesReporter } from './tables-reporter.ts'
import { readSpooledSystem } from './read-spooled-system.ts'
import { canReadIncrement, type SpooledSystem } from './spool-http-system.ts'
import { spoolRecords, withSession } from './http-system-session.ts'

/** Options for requests for which a user waits. */
const interactiveOptions = { retryPolicy: interactiveRetry, maxValues: maxInteractiveValues }

/** Returns the HTTP system for a pipeline's settings. Imports its module at the first use. */
export type LoadSystem = (settings: any) => Promise<HttpSystem<any>>

/** Reads the records of a request to disk. The caller must close the files. */
export type SpoolRecords = (
  request: ReadRequest,
  reporter: TablesReporter,
  signal: AbortSignal,
) => Promise<SpooledSystem>

/**
 * Creates a connector from an HTTP system. Runs read the records with `spoolInThread`; without it, and for previews,
 * they are read in this thread.
 */
export function createHttpConnector(
  loadSystem: LoadSystem,
  context: ConnectorContext,
  spoolInThread?: SpoolRecords,
): Connector {
  const { filesDirectory, retryPolicy } = context
  const directory = spoolDirectory(filesDirectory)

  const spoolInCurrentThread: SpoolRecords = async (request, reporter, signal) =>
    spoolRecords(await loadSystem(request.settings), request, { ...context, retryPolicy, reporter, signal })

  /** Spools the records of a request, and yields them as row streams. */
  async function* read(
    request: ReadRequest,
    report: ReadReporter,
    signal: AbortSignal,
    spool: SpoolRecords,
    isPreview = false,
  ): AsyncGenerator<RowStream, void, void> {
    signal.throwIfAborted()
    const reporter = createTablesReporter(report)
    const spooled = await spool(request, reporter, signal)
    yield* readSpooledSystem(spooled, { request, directory, reporter, signal, isPreview })
  }

  /** Returns the result of an operation for which a user waits. */
  async function runInteractive<T>(
    request: ReadRequest,
    signal: AbortSignal,
    operation: (system: HttpSystem, context: SystemContext) => Promise<T>,
  ): Promise<T> {
    const system = await loadSystem(request.settings)
    const options = { ...context, ...interactiveOptions, signal, reporter: createTablesReporter(silentReporter) }
    return await withSession(system, request, options, (systemContext) => operation(system, systemContext))
  }

  return {
    async canReadIncrement(request) {
      return canReadIncrement(await loadSystem(request.settings), request)
    },
    async getCursorKind(settings) {
      const system = await loadSystem(settings)
      if (system.canReadIncrement?.(settings) !== true) return 'NONE'
      return system.createCursor?.(anyMoment, settings) === undefined ? 'OPAQUE' : 'MOMENT'
    },
    read: (request, report, signal) => read(request, report, signal, spoolInThread ?? spoolInCurrentThread),
    testConnection: (request, signal) =>
      runInteractive(request, signal, (system, systemContext) => system.testConnection(systemContext)),
    listOptions: (kind, request, signal) =>
      runInteractive(request, signal, async (system, systemContext) => system.listOptions?.(kind, systemContext)),
    preview(request, rows, signal) {
      const spoolPreview: SpoolRecords = async (request, reporter, previewSignal) => {
        const options = { ...context, ...interactiveOptions, reporter, signal: previewSignal, maxRecords: rows }
        return await spoolRecords(await loadSystem(request.settings), request, options)
      }
      return previewRowStream(
        (report, previewSignal) => read(request, report, previewSignal, spoolPreview, true),
        rows,
        signal,
      )
    },
  }
}

/** Any timestamp. It is used to find out whether the cursors of a system are timestamps. */
const anyMoment = '2026-01-01T00:00:00.000Z'
