import type { PipelineType } from '@sluice/contracts'
import { connectorNames as systemNames } from '@sluice/contracts/connector-types'
import { causeOf } from '@sluice/process'
import { previewRowStream } from '@sluice/file-formats/preview/preview-row-stream'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import { type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import type { Connector, KeyRows, ReadRequest, SourceOption } from '../connector.ts'
import type { KnownType } from '../settings/connector-definition.ts'
import type { LoadSystem } from '../http-connector/http-connector.ts'
import { connectorModules, findSystem, type RegistryContext, type SystemReference } from './connector-modules.ts'

/** Runs the operations of all connectors. They throw `SourceProblem` for problems that a user can fix. */
export interface ConnectorRegistry {
  /** Returns true if a read in mode INCREMENTAL continues from its cursor. The caller must then merge the rows. */
  canReadIncrement(request: ReadRequest): Promise<boolean>
  getCursorKind(type: string, settings: unknown): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /** Yields the row streams of a pipeline's tables. Reading starts when the caller requests the first one. */
  read(request: ReadRequest, report: ReadReporter, signal: AbortSignal): AsyncIterable<RowStream>
  /** Tests the connection to the source. Returns the problem, or undefined if the test succeeded. */
  testConnection(request: ReadRequest, signal: AbortSignal): Promise<ConnectionProblem | undefined>
  /** Lists the options of a setting. Returns undefined for an unknown kind of option. */
  listOptions(kind: string, request: ReadRequest, signal: AbortSignal): Promise<SourceOption[] | undefined>
  /** Returns at most `rows` of the first rows. */
  preview(request: ReadRequest, rows: number, signal: AbortSignal): Promise<SourcePreview>
  /**
   * Returns the positions of the rows in the files of a source. Returns undefined if it has no files, or if the rows are
   * not found.
   */
  describeKeyRows(request: ReadRequest, keyRows: KeyRows, signal: AbortSignal): Promise<string | undefined>
}

export interface ConnectionProblem {
  code: string
  message: string
  /** The error of the driver or the network, for operators. It contains no secrets. */
  cause?: string
}

interface RegistryOptions extends RegistryContext {
  /**
   * HTTP systems that replace or extend the built-in ones: by pipeline type, the address of a module that exports only
   * the system.
   */
  systems?: Readonly<Partial<Record<string, string>>>
}

/** Creates the registry. A connection is opened only when an operation needs it. */
export function createConnectorRegistry({ systems = {}, ...context }: RegistryOptions): ConnectorRegistry {
  const connectorsByType = new Map<string, Promise<Connector>>()

  /** Returns the connector of a pipeline type. Imports it at its first use. */
  function getConnector(type: string): Promise<Connector> {
    const connector = connectorsByType.get(type) ?? load(type)
    connectorsByType.set(type, connector)
    return connector
  }

  async function load(type: string): Promise<Connector> {
    const module = Object.hasOwn(systems, type) ? systems[type] : undefined
    const system = { type, module }
    const loadSystem = findSystem(system)
    if (loadSystem) return await loadHttpConnector(loadSystem, system)
    const registered = Object.hasOwn(connectorModules, type) ? connectorModules[type as KnownType] : undefined
    const connector = await registered?.load?.(context)
    if (!connector) throw createUnsupportedTypeProblem(type)
    return connector
  }

  async function loadHttpConnector(loadSystem: LoadSystem, system: SystemReference): Promise<Connector> {
    const { createHttpConnector } = await import('../http-connector/http-connector.ts')
    const { spoolInThread } = await import('./spool-http-system-in-thread.ts')
    return createHttpConnector(loadSystem, context, spoolInThread(system, context))
  }

  return {
    async canReadIncrement(request) {
      const connector = await getConnector(request.type)
      return (await connector.canReadIncrement?.(request)) ?? false
    },

    async getCursorKind(type, settings) {
      const connector = await getConnector(type)
      return (await connector.getCursorKind?.(settings)) ?? 'NONE'
    },

    async *read(request, report, signal) {
      const connector = await getConnector(request.type)
      if (request.mode === 'INCREMENTAL' && !connector.canReadIncrement)
        report.log(
          'INFO',
          'LOW',
          'All rows are read and replace the old ones, because the source does not report changes.',
        )
      yield* connector.read(request, report, signal)
    },

    async testConnection(request, signal) {
      try {
        const connector = await getConnector(request.type)
        await connector.testConnection?.(request, signal)
        return undefined
      } catch (error) {
        if (!(error instanceof SourceProblem)) throw error
        const { code, message } = error
        return { code, message, ...causeOf(error, Object.values(request.secrets)) }
      }
    },

    listOptions: async (kind, request, signal) =>
      (await getConnector(request.type)).listOptions?.(kind, request, signal),

    async preview(request, rows, signal) {
      const connector = await getConnector(request.type)
      if (connector.preview) return await connector.preview(request, rows, signal)
      return await previewRowStream(
        (report, previewSignal) => connector.read(request, report, previewSignal),
        rows,
        signal,
      )
    },

    describeKeyRows: async (request, keyRows, signal) =>
      (await getConnector(request.type)).describeKeyRows?.(request, keyRows, signal),
  }
}

/** Returns the problem for a pipeline type that can be saved, but that this version cannot read. */
function createUnsupportedTypeProblem(type: string): SourceProblem {
  const system = Object.hasOwn(systemNames, type) ? systemNames[type as PipelineType] : type
  return new SourceProblem(
    'TYPE_NOT_SUPPORTED',
    `This version cannot read from ${system} yet (type ${type}). The pipeline stays unchanged: update Sluice to run it.`,
  )
}
