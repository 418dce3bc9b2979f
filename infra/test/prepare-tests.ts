import { join } from 'node:path'
import { rebuildStaleBundles } from '../bundle/rebuild-stale-bundles.ts'
import { root, state } from '../paths.ts'
import { installMissingDebianPackages } from './install-debian-packages.ts'
import { installMissingNpmPackages } from './install-npm-packages.ts'

/** The folder of the bundled programs that tests start. */
export const bundlesFolder = join(state, 'built-for-tests')

/** Installs missing packages that tests need, and bundles the programs that tests start. */
export const prepareTests = async (): Promise<void> => {
  await Promise.all([
    installMissingDebianPackages(),
    installMissingNpmPackages(),
    rebuildStaleBundles(root, bundlesFolder),
  ])
}

if (import.meta.main) await prepareTests()
