import type { PipelineType } from '@sluice/contracts'
import { systems as systemNames } from '@sluice/contracts/systems'
import { outgoingAddresses, type OutgoingAllowList, type RetryPolicy } from '@sluice/http-client'
import { causeOf } from '@sluice/process'
import { databaseQueries } from './database-queries.ts'
import { objectStores } from './object-stores.ts'
import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import { type DatasetDatabase, publicDatasets } from '../public-dataset/public-datasets.ts'
import type { SourceChoice, SourceReading, SourceKind } from '../connector.ts'
import { type SourceFeed, type LoadReport, SourceProblem } from '@sluice/row-stream'
import { httpSystems, type SystemsByType } from './systems.ts'
import { uploadedFiles } from '../uploaded-file/uploaded-files.ts'

/** The sources of all pipeline types that this version can load. */
export interface SourceRegistry {
  reads(type: string): boolean
  /** Whether a reading in mode INCREMENTAL continues from its cursor, so that its rows must be merged. */
  increments(reading: SourceReading): Promise<boolean>
  cursorOf(type: string): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /** Reads the feeds of a pipeline. Reading starts with the request for the first feed. Throws `SourceProblem`. */
  read(reading: SourceReading, report: LoadReport, signal: AbortSignal): AsyncIterable<SourceFeed>
  /** Tests the connection to the source. Returns the problem, or undefined. */
  test(reading: SourceReading, signal: AbortSignal): Promise<SourceTrouble | undefined>
  /** Lists choices; undefined for an unknown kind. Throws `SourceProblem`. */
  lookup(kind: string, reading: SourceReading, signal: AbortSignal): Promise<SourceChoice[] | undefined>
  /** Returns at most the given number of first rows. Throws `SourceProblem`. */
  preview(reading: SourceReading, rows: number, signal: AbortSignal): Promise<SourcePreview>
}

export interface SourceTrouble {
  code: string
  message: string
  /** The error of the driver or the network, for operators. Contains no secrets. */
  cause?: string
}

export interface SourceOptions {
  filesDirectory: string
  /** Addresses inside the network that the operator allows users to read from. */
  allowed: OutgoingAllowList
  /** If absent, public datasets cannot be read. */
  datasets?: DatasetDatabase
  retryPolicy?: RetryPolicy
  systems?: SystemsByType
}

/** Creates the sources of all pipeline types. Nothing connects before the first use. */
export function createSourceRegistry({
  filesDirectory,
  allowed,
  datasets,
  retryPolicy,
  systems,
}: SourceOptions): SourceRegistry {
  const look = outgoingAddresses({ allowed })
  const options = { filesDirectory, allowed, ...(retryPolicy && { retryPolicy }) }
  const kinds: Readonly<Record<string, SourceKind>> = {
    ...uploadedFiles(filesDirectory),
    ...(datasets && { PUBLIC_DATASET: publicDatasets(datasets) }),
    ...databaseQueries(async (host, port) => (await look(host, port)).addresses),
    ...objectStores(options),
    ...httpSystems(options, systems),
  }

  function kindOf(type: string): SourceKind {
    const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
    if (!kind) throw unsupportedType(type)
    return kind
  }

  return {
    reads: (type) => Object.hasOwn(kinds, type),

    increments: async (reading) => (await kindOf(reading.type).increments?.(reading)) ?? false,

    cursorOf: async (type) => (await kindOf(type).cursor?.()) ?? 'NONE',

    read(reading, report, signal) {
      const kind = kindOf(reading.type)
      if (reading.mode === 'INCREMENTAL' && !kind.increments)
        report.log(
          'INFO',
          'LOW',
          'The source cannot tell what is new: all of it is read, and takes the place of the old rows.',
        )
      return kind.read(reading, report, signal)
    },

    async test(reading, signal) {
      try {
        await kindOf(reading.type).test?.(reading, signal)
        return undefined
      } catch (error) {
        if (!(error instanceof SourceProblem)) throw error
        const { code, message } = error
        return { code, message, ...causeOf(error, Object.values(reading.secrets)) }
      }
    },

    lookup: async (what, reading, signal) => kindOf(reading.type).lookup?.(what, reading, signal),

    preview(reading, rows, signal) {
      const kind = kindOf(reading.type)
      return kind.preview
        ? kind.preview(reading, rows, signal)
        : previewFeed((report, stopping) => kind.read(reading, report, stopping), rows, signal)
    },
  }
}

/** Returns the problem of a type that can be configured but not read yet; runs, tests, previews and look-ups all use it. */
function unsupportedType(type: string): SourceProblem {
  const system = Object.hasOwn(systemNames, type) ? systemNames[type as PipelineType] : type
  return new SourceProblem(
    'TYPE_NOT_SUPPORTED',
    `This version cannot read from ${system} yet (type ${type}). The pipeline is kept as it is, for a version that can.`,
  )
}
