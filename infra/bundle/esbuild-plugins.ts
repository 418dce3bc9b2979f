import { readFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Plugin } from 'esbuild'

const slashes = (path: string) => path.replaceAll(sep, '/')

/** The expression with which a program names a thread that it starts. */
const thread = /new URL\('(\.\/[\w-]+)\.ts', import\.meta\.url\)/

/**
 * Returns the path of the thread that a source starts; undefined if it starts none. The path is relative to the same
 * folder as `file`.
 */
export function threadIn(source: string, file: string): string | undefined {
  const [, name] = thread.exec(source) ?? []
  return name && join(dirname(file), `${name}.ts`)
}

/**
 * Lets bundled sources find the files of their original folders: `import.meta` keeps its original value. Threads are
 * bundled too, so their addresses point into `outdir`.
 */
export const inPlace = (root: string, outdir: string): Plugin => ({
  name: 'in place',
  setup({ onLoad }) {
    const own = new RegExp(`^${RegExp.escape(root + sep)}(apps|packages)\\${sep}.*\\.ts$`)
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!own.test(path)) return undefined
      const source = await readFile(path, 'utf8')
      if (!source.includes('import.meta.')) return undefined
      const was = slashes(relative(outdir, path))
      const [before, after = ''] = source.split(thread.exec(source)?.[0] ?? '\0')
      const [, name] = thread.exec(source) ?? []
      const moved = (text: string) =>
        text
          .replaceAll('import.meta.dirname', `(import.meta.dirname + ${JSON.stringify(`/${dirname(was)}`)})`)
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(was)}, import.meta.url).href`)
      const contents = name ? `${moved(before!)}new URL('${name}.js', import.meta.url)${moved(after)}` : moved(source)
      return { contents, loader: 'ts' }
    })
  },
})

/** Excludes packages from the bundle, and resolves them to their place in node_modules. */
export const leave = (packages: readonly string[]): Plugin => ({
  name: 'left out',
  setup({ onResolve, resolve }) {
    const filter = new RegExp(`^(${packages.map(RegExp.escape).join('|')})$`)
    onResolve({ filter }, async ({ path, pluginData, ...from }) => {
      if (pluginData === filter) return undefined
      return { ...(await resolve(path, { ...from, pluginData: filter })), external: true }
    })
  },
})
