import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root } from '../../paths.ts'
import { workspaces } from '../../workspaces.ts'

/** For each node, the nodes that it depends on. */
export type Graph = Map<string, Set<string>>

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|new URL\(\s*['"](\.[^'"]+\.tsx?)['"]/g

/** What a file imports: statically, dynamically, as a type or as a file to start. */
export const importsOf = (text: string): string[] =>
  [...text.matchAll(importPattern)].map((match) => match.slice(1).find((group) => group !== undefined)!)

/** Which of the files import which others of them. */
export function importGraph(sources: ReadonlyMap<string, string>, entries = packageEntries()): Graph {
  const resolve = (file: string, specifier: string): string | undefined =>
    specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : entries.get(specifier)
  return new Map(
    [...sources].map(([file, text]) => {
      const targets = importsOf(text).flatMap((specifier) => resolve(file, specifier) ?? [])
      return [file, new Set(targets.filter((target) => target !== file && sources.has(target)))]
    }),
  )
}

/** The files behind the names under which our packages are imported, such as `@sluice/http-server/health`. */
function packageEntries(): Map<string, string> {
  return new Map(
    workspaces().flatMap(({ name, folder }) => {
      const { exports = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
      const entries = Object.entries<string>(typeof exports === 'string' ? { '.': exports } : exports)
      return entries.map(([path, file]): [string, string] => [join(name, path), join(folder, file)])
    }),
  )
}

/** Which folders import from which others. A folder and one above or below it are left out: a parent may use its parts. */
export function folderGraph(graph: Graph): Graph {
  const folders: Graph = new Map()
  const within = (one: string, other: string) => `${one}/`.startsWith(`${other}/`)
  for (const [file, targets] of graph) {
    const folder = dirname(file)
    const others = [...targets].map(dirname).filter((other) => !within(other, folder) && !within(folder, other))
    folders.set(folder, new Set([...(folders.get(folder) ?? []), ...others]))
  }
  return folders
}

/** The nodes that can be reached from themselves. */
export function nodesInCycles(graph: Graph): string[] {
  return [...graph.keys()].filter((start) => {
    const seen = new Set<string>()
    const open = [...graph.get(start)!]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (node === start) return true
      if (seen.has(node)) continue
      seen.add(node)
      open.push(...(graph.get(node) ?? []))
    }
    return false
  })
}
