import { join } from 'node:path'
import { bringUpToDate } from './rebuild-stale-bundles.ts'

/** The programs of both apps. */
export type Programs = {
  /** Brings the programs up to date with the sources. */
  ready: () => Promise<void>
  /** The path of a program, for example of `identity` and `serve`. */
  file: (app: string, name: string) => string
}

/**
 * Bundled programs start in a third of the time, and each process needs 25 MB less memory
 * (docs/decisions/0048-bundles.md).
 */
export const bundledPrograms = (root: string, folder: string): Programs => ({
  ready: () => bringUpToDate(root, folder),
  file: (app, name) => join(folder, app, `${name}.js`),
})

/** Runs the sources as they are. */
export const programSources = (root: string): Programs => ({
  ready: () => Promise.resolve(),
  file: (app, name) => join(root, 'apps', app, 'bin', `${name}.ts`),
})
