import { join } from 'node:path'
import { bringUpToDate } from './up-to-date.ts'

/** Where the programs of both apps are. */
export type Programs = {
  /** Has them there as the sources are now. */
  ready: () => Promise<void>
  /** The file of a program, such as `identity` and `serve`. */
  file: (app: string, name: string) => string
}

/** Bundled: a third of the time to start, and 25 MB less for each process (docs/decisions/0048-bundles.md). */
export const bundledPrograms = (root: string, folder: string): Programs => ({
  ready: () => bringUpToDate(root, folder),
  file: (app, name) => join(folder, app, `${name}.js`),
})

/** As they are written. */
export const programSources = (root: string): Programs => ({
  ready: () => Promise.resolve(),
  file: (app, name) => join(root, 'apps', app, 'bin', `${name}.ts`),
})
