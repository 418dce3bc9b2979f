import { readFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Plugin } from 'esbuild'

const toSlashes = (path: string) => path.replaceAll(sep, '/')

/** Matches the expression that names the source of a worker thread. */
const threadUrlPattern = /new URL\('(\.\/[\w-]+)\.ts', import\.meta\.url\)/

/**
 * Returns the path of the worker thread that a source file starts, or undefined. `file` and the returned path are
 * relative to the same folder.
 */
export function findThreadPath(source: string, file: string): string | undefined {
  const [, name] = threadUrlPattern.exec(source) ?? []
  return name && join(dirname(file), `${name}.ts`)
}

/**
 * Replaces `import.meta.dirname` and `import.meta.url` in bundled sources by the paths of the original files, so that
 * they still find their data files. URLs of worker threads point into `outdir`, because threads are bundled too.
 */
export const keepSourcePaths = (root: string, outdir: string): Plugin => ({
  name: 'keep-source-paths',
  setup({ onLoad }) {
    const workspaceSource = new RegExp(`^${RegExp.escape(root + sep)}(apps|packages)\\${sep}.*\\.ts$`)
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!workspaceSource.test(path)) return undefined
      const source = await readFile(path, 'utf8')
      if (!source.includes('import.meta.')) return undefined
      const originalPath = toSlashes(relative(outdir, path))
      const [threadUrl = '\0', name] = threadUrlPattern.exec(source) ?? []
      const [before, after = ''] = source.split(threadUrl)
      const replacePaths = (text: string) =>
        text
          .replaceAll('import.meta.dirname', `(import.meta.dirname + ${JSON.stringify(`/${dirname(originalPath)}`)})`)
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(originalPath)}, import.meta.url).href`)
      const contents = name
        ? `${replacePaths(before!)}new URL('${name}.js', import.meta.url)${replacePaths(after)}`
        : replacePaths(source)
      return { contents, loader: 'ts' }
    })
  },
})

/** Excludes packages from the bundle and imports them from their path in node_modules. */
export const externalizePackages = (packages: readonly string[]): Plugin => ({
  name: 'externalize-packages',
  setup({ onResolve, resolve }) {
    const filter = new RegExp(`^(${packages.map(RegExp.escape).join('|')})$`)
    onResolve({ filter }, async ({ path, pluginData, ...from }) => {
      // `resolve` below calls this function again.
      if (pluginData === filter) return undefined
      return { ...(await resolve(path, { ...from, pluginData: filter })), external: true }
    })
  },
})
