import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clickhousePackage } from '../clickhouse/library.ts'
import { state } from '../paths.ts'

/**
 * Programs of others that our tests run against, by their npm package. They are too heavy for `npm install`: Azurite, which
 * is Microsoft's own stand-in for Azure Storage, brings three hundred packages with it, and ClickHouse, which comes where
 * SLUICE_TEST_CLICKHOUSE=1 asks for it, is half a gigabyte.
 */
export const testPrograms = [
  'azurite@3.36.0',
  ...(process.env['SLUICE_TEST_CLICKHOUSE'] === '1' ? [clickhousePackage] : []),
]

/** Where they are: one folder for each version. Tests hear of it as SLUICE_TEST_PROGRAMS. */
export const programsFolder = join(state, 'test-programs')

/**
 * Installs which of these are missing into a folder of their own, without running anything of theirs. Where that fails, one
 * line says which tests are left out and why: tests look for the program, and skip themselves without it.
 * SLUICE_INSTALL_PACKAGES=no keeps it from trying. Never throws.
 */
export const demandPrograms = async (
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

/** Undefined when it worked, else why not. It is whole or not there at all, whatever ends this. */
const install = async (name: string, folder: string): Promise<string | undefined> => {
  console.log(`Installing what tests need: ${name} …`)
  await mkdir(folder, { recursive: true })
  const making = await mkdtemp(join(folder, '.making-'))
  try {
    await writeFile(join(making, 'package.json'), '{ "private": true }\n')
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
    const { status, stderr, error } = spawnSync('npm', ['install', ...quiet, name], {
      cwd: making,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 300_000,
    })
    if (error) return `npm could not be run (${error.message})`
    if (status !== 0) return `npm could not install it (${stderr.trim().split('\n')[0] || 'no reason given'})`
    await rename(making, folderOf(name, folder)).catch((cause: NodeJS.ErrnoException) => {
      // Somebody else was quicker.
      if (!['ENOTEMPTY', 'EEXIST'].includes(cause.code ?? '')) throw cause
    })
    return undefined
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}
