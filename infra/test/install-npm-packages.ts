import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { clickhousePackage } from '../clickhouse/clickhouse-library.ts'

const execute = promisify(execFile)

/**
 * npm packages of the programs that tests run against. They are too heavy for `npm install`: Azurite, Microsoft's stand-in
 * for Azure Storage, depends on three hundred packages, and ClickHouse, installed where SLUICE_TEST_CLICKHOUSE=1 asks for
 * it, is half a gigabyte.
 */
export const testPrograms = [
  'azurite@3.36.0',
  ...(process.env['SLUICE_TEST_CLICKHOUSE'] === '1' ? [clickhousePackage] : []),
]

/** One folder for each version, kept for all checkouts of this user. Tests find it in SLUICE_TEST_PROGRAMS. */
export const programsFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'sluice/test-programs')

/**
 * Installs the missing ones of these, without running their install scripts. Where that fails, or where
 * SLUICE_INSTALL_PACKAGES=no, one line says which tests are skipped and why. Never throws.
 */
export const installMissingNpmPackages = async (
  names: readonly string[] = testPrograms,
  folder = programsFolder,
): Promise<void> => {
  for (const name of names) {
    if (existsSync(folderOf(name, folder))) continue
    const reason =
      process.env['SLUICE_INSTALL_PACKAGES'] === 'no'
        ? 'SLUICE_INSTALL_PACKAGES is "no"'
        : await install(name, folder).catch((error: Error) => error.message)
    if (reason) console.warn(`Tests that need ${name} are skipped: ${reason}.`)
  }
}

const folderOf = (name: string, folder: string) => join(folder, name.replace('@', '-'))

/** Answers why it failed, or undefined. The folder gets its name when it is complete, so half an installation is never used. */
const install = async (name: string, folder: string): Promise<string | undefined> => {
  console.log(`Installing what tests need: ${name} …`)
  await mkdir(folder, { recursive: true })
  const unfinished = await mkdtemp(join(folder, '.unfinished-'))
  try {
    await writeFile(join(unfinished, 'package.json'), '{ "private": true }\n')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
    await execute('npm', ['install', ...flags, name], { cwd: unfinished, timeout: 300_000 })
    await rename(unfinished, folderOf(name, folder)).catch((cause: NodeJS.ErrnoException) => {
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
