import { basename, dirname, join, resolve } from 'node:path'

const apps = resolve(import.meta.dirname, '../../../apps')

/** Node's arguments for a program of the apps. Stack traces of bundles name files and lines of the sources. */
export const programArguments = (source: string, ...flags: string[]): string[] => [
  '--enable-source-maps',
  programFile(source),
  ...flags,
]

/** Returns the environment variables of the test that every started program needs. */
export function programEnvironment(): Record<string, string> {
  const names = ['PATH', 'NODE_COMPILE_CACHE', 'TMPDIR']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}

/**
 * The file of one of the apps' programs, such as `identity/bin/serve.ts`: bundled, as people run it, where `npm test` has said
 * in SLUICE_TEST_BUILT where that is; its source otherwise.
 */
function programFile(source: string): string {
  const built = process.env['SLUICE_TEST_BUILT']
  if (!built) return join(apps, source)
  return join(built, dirname(dirname(source)), `${basename(source, '.ts')}.js`)
}
