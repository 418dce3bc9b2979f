import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root } from '../../paths.ts'
import { workspaces } from '../../workspaces.ts'

/** Maps each node to the nodes that it depends on. */
export type Graph = Map<string, Set<string>>

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|new URL\(\s*['"](\.[^'"]+\.tsx?)['"]/g

/** Returns the specifiers of all imports of a file: static, dynamic, of types, and of files that it starts. */
export const parseImports = (text: string): string[] =>
  [...text.matchAll(importPattern)].map((match) => match.slice(1).find((group) => group !== undefined)!)

/** Maps each source to the sources that it imports. */
export function importGraph(sources: ReadonlyMap<string, string>, entries = readPackageEntries()): Graph {
  const resolve = (file: string, specifier: string): string | undefined =>
    specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : entries.get(specifier)
  return new Map(
    [...sources].map(([file, text]) => {
      const targets = parseImports(text).flatMap((specifier) => resolve(file, specifier) ?? [])
      return [file, new Set(targets.filter((target) => target !== file && sources.has(target)))]
    }),
  )
}

/** Maps the import names of workspace packages, such as `@sluice/http-server/check-readiness`, to files. */
function readPackageEntries(): Map<string, string> {
  return new Map(
    workspaces().flatMap(({ name, folder }) => {
      const { exports = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
      const entries = Object.entries<string>(typeof exports === 'string' ? { '.': exports } : exports)
      return entries.map(([path, file]): [string, string] => [join(name, path), join(folder, file)])
    }),
  )
}

/** Maps each folder to the folders that it imports from, without its own ancestors and descendants. */
export function folderGraph(graph: Graph): Graph {
  const folders: Graph = new Map()
  const isInside = (one: string, other: string) => `${one}/`.startsWith(`${other}/`)
  for (const [file, targets] of graph) {
    const folder = dirname(file)
    const targetFolders = [...targets]
      .map(dirname)
      .filter((other) => !isInside(other, folder) && !isInside(folder, other))
    folders.set(folder, new Set([...(folders.get(folder) ?? []), ...targetFolders]))
  }
  return folders
}

/** Returns the nodes that are part of a cycle. */
export function nodesInCycles(graph: Graph): string[] {
  return [...graph.keys()].filter((start) => {
    const visited = new Set<string>()
    const pending = [...graph.get(start)!]
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (node === start) return true
      if (visited.has(node)) continue
      visited.add(node)
      pending.push(...(graph.get(node) ?? []))
    }
    return false
  })
}
