import type { Reading, SourceKind } from './reading.ts'
import { type Feed, type Report, SourceProblem } from './source.ts'
import { uploadedFiles } from './uploaded-files.ts'

/** Where data comes from, for every type of pipeline that this version can load. */
export interface Sources {
  /** The feeds of a pipeline. Nothing is read before the first is asked for. Throws `SourceProblem`. */
  read(reading: Reading, report: Report, signal: AbortSignal): AsyncIterable<Feed>
  /** Throws `SourceProblem` when the source cannot be reached, signed in to, or asked this. */
  test(reading: Reading, signal: AbortSignal): Promise<void>
}

export interface SourceParts {
  filesDirectory: string
}

/** Opens nothing until it is asked. */
export function openSources({ filesDirectory }: SourceParts): Sources {
  const kinds: Readonly<Record<string, SourceKind>> = uploadedFiles(filesDirectory)

  function kindOf(type: string): SourceKind {
    const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
    if (!kind) throw new SourceProblem('TYPE_NOT_SUPPORTED', `This version cannot load pipelines of type ${type}.`)
    return kind
  }

  return {
    read: (reading, report, signal) => kindOf(reading.type).read(reading, report, signal),
    test: async (reading, signal) => kindOf(reading.type).test?.(reading, signal),
  }
}
