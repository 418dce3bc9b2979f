import { basename, dirname, join, resolve } from 'node:path'

const apps = resolve(import.meta.dirname, '../../../apps')

/**
 * The file of one of the apps' programs, such as `identity/bin/serve.ts`: bundled, as people run it, where `npm test` has said
 * in SLUICE_TEST_BUILT where that is; its source otherwise.
 */
export function programFile(source: string): string {
  const built = process.env['SLUICE_TEST_BUILT']
  if (!built) return join(apps, source)
  return join(built, dirname(dirname(source)), `${basename(source, '.ts')}.js`)
}
