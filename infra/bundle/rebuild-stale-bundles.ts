import { readFileSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildFailure } from 'esbuild'
import { UserError } from '../user-error.ts'
import { bundle } from './bundle.ts'

/** Returns the path of the file that records the bundled sources with their sizes and modification times. */
const inputsFile = (folder: string) => join(folder, 'bundle-inputs.json')

/** Files that affect the bundles without being part of them. */
const buildFiles = ['package-lock.json', 'infra/bundle/bundle.ts', 'infra/bundle/esbuild-plugins.ts']

/**
 * Builds the bundles if the sources have changed since the last build into this folder. Two processes must not build
 * into the same folder at the same time. Throws UserError if a package or one of its files is missing.
 */
export async function rebuildStaleBundles(root: string, folder: string): Promise<void> {
  if (isUpToDate(root, folder)) return
  await rm(inputsFile(folder), { force: true })
  const bundled = await bundle(root, folder).catch((error: unknown) => {
    throw missingPackageError(error) ?? error
  })
  const files = [...bundled, ...buildFiles]
  const stamps = Object.fromEntries(files.map((file) => [file, fileStamp(root, file)]))
  await writeFile(inputsFile(folder), JSON.stringify({ root, folder, node: process.version, stamps }))
}

/**
 * Returns a UserError if esbuild did not find an imported package or a file that a package imports; otherwise
 * undefined.
 */
function missingPackageError(error: unknown): UserError | undefined {
  const { errors = [] } = error as Partial<BuildFailure>
  const missing = errors.flatMap(({ text, location }) => {
    const [, name] = /^Could not resolve "(.*)"$/.exec(text) ?? []
    const isPackageImport = name && (!/^[./]/.test(name) || location?.file.includes('node_modules'))
    return isPackageImport ? [name] : []
  })
  if (missing.length === 0) return undefined
  return new UserError(`node_modules is incomplete: "${missing[0]}" was not found. Run "npm ci" and start again.`)
}

function isUpToDate(root: string, folder: string): boolean {
  try {
    const record = JSON.parse(readFileSync(inputsFile(folder), 'utf8')) as {
      root: string
      folder: string
      node: string
      stamps: Record<string, string>
    }
    if (record.root !== root || record.folder !== folder || record.node !== process.version) return false
    return Object.entries(record.stamps).every(([file, stamp]) => fileStamp(root, file) === stamp)
  } catch {
    return false
  }
}

/** Returns the modification time and size of a file, or an empty string for a module without a file. */
function fileStamp(root: string, file: string): string {
  const stat = statSync(join(root, file), { throwIfNoEntry: false })
  return stat ? `${stat.mtimeMs} ${stat.size}` : ''
}
