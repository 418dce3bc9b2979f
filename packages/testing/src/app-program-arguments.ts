import { basename, dirname, join, resolve } from 'node:path'

const apps = resolve(import.meta.dirname, '../../../apps')

/**
 * Returns Node's arguments for a program of the apps. Stack traces of its bundle name files and lines of the sources.
 */
export const programArguments = (source: string, ...flags: string[]): string[] => [
  '--enable-source-maps',
  programFile(source),
  ...flags,
]

/** Returns the environment variables of the test process that every started program needs. */
export function programEnvironment(): Record<string, string> {
  const names = ['PATH', 'NODE_COMPILE_CACHE', 'TMPDIR']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}

/**
 * Returns the file of a program of the apps, such as `identity/bin/serve.ts`: its bundle if `npm test` has set the
 * folder of bundles in SLUICE_TEST_BUILT, otherwise its source.
 */
function programFile(source: string): string {
  const built = process.env['SLUICE_TEST_BUILT']
  if (!built) return join(apps, source)
  return join(built, dirname(dirname(source)), `${basename(source, '.ts')}.js`)
}
