import { join } from 'node:path'
import { rebuildStaleBundles } from './rebuild-stale-bundles.ts'

/** The programs of both apps, as bundles or as sources. */
export type Programs = {
  /** Rebuilds the programs if the sources have changed. */
  ready: () => Promise<void>
  /** Returns the path of a program, for example of app `identity` and name `serve`. */
  file: (app: string, name: string) => string
}

/**
 * Returns the bundled programs in a folder. They start in a third of the time of the sources, and each process needs
 * 25 MB less memory (docs/decisions/0048-bundles.md).
 */
export const bundledPrograms = (root: string, folder: string): Programs => ({
  ready: () => rebuildStaleBundles(root, folder),
  file: (app, name) => join(folder, app, `${name}.js`),
})

/** Returns the programs as TypeScript sources, without a bundle. */
export const programSources = (root: string): Programs => ({
  ready: () => Promise.resolve(),
  file: (app, name) => join(root, 'apps', app, 'bin', `${name}.ts`),
})
