import { join } from 'node:path'
import { rebuildStaleBundles } from '../bundle/rebuild-stale-bundles.ts'
import { root, state } from '../paths.ts'
import { installMissingDebianPackages } from './install-debian-packages.ts'
import { installMissingNpmPackages } from './install-npm-packages.ts'

/** The bundles that tests start as programs. */
export const bundles = join(state, 'built-for-tests')

/** Installs the programs that tests run against, where they are missing, and bundles the programs that tests start. */
export const prepare = async (): Promise<void> => {
  await Promise.all([installMissingDebianPackages(), installMissingNpmPackages(), rebuildStaleBundles(root, bundles)])
}

if (import.meta.main) await prepare()
