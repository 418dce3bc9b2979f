import { readFile, writeFile } from 'node:fs/promises'
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec'

/** The fields of a source map file that are read or replaced here. */
interface SourceMap {
  sources: string[]
  mappings: string
}

/**
 * Removes the mappings of libraries from a source map file. Stack traces then show library frames with their position
 * in the bundle. Node keeps every mapping of a file in memory once it needs one of them, and most belong to libraries.
 */
export async function omitLibraryMappings(file: string): Promise<void> {
  const map = JSON.parse(await readFile(file, 'utf8')) as SourceMap
  const isLibrary = map.sources.map((source) => source.includes('node_modules/'))
  let isMapped = false
  function keepOwnSegment(segment: SourceMapSegment): SourceMapSegment[] {
    const wasMapped = isMapped
    isMapped = segment.length > 1 && !isLibrary[segment[1]!]
    if (isMapped) return [segment]
    // A segment without a source ends the preceding mapping.
    return wasMapped ? [[segment[0]]] : []
  }
  const lines = decode(map.mappings).map((segments) => segments.flatMap(keepOwnSegment))
  await writeFile(file, JSON.stringify({ ...map, mappings: encode(lines) }))
}
