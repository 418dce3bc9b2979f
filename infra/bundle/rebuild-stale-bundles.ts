import { readFileSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildFailure } from 'esbuild'
import { Refusal } from '../user-error.ts'
import { bundle } from './bundle.ts'

/** The record of the bundled files, with their sizes and times of change. */
const recordOf = (folder: string) => join(folder, 'made-of.json')

/** Files that the bundle depends on and does not contain. */
const always = ['package-lock.json', 'infra/bundle/bundle.ts', 'infra/bundle/esbuild-plugins.ts']

/**
 * Builds the bundles, unless those in the folder are up to date with the sources. Two processes at the same time need a folder
 * each. Throws Refusal if files of a package are missing.
 */
export async function bringUpToDate(root: string, folder: string): Promise<void> {
  if (isUpToDate(root, folder)) return
  await rm(recordOf(folder), { force: true })
  const bundled = await bundle(root, folder).catch((error: unknown) => {
    throw missingPackageRefusal(error) ?? error
  })
  const files = [...bundled, ...always]
  const stamps = Object.fromEntries(files.map((file) => [file, stampOf(root, file)]))
  await writeFile(recordOf(folder), JSON.stringify({ root, folder, node: process.version, stamps }))
}

/** Returns a Refusal if esbuild does not find an imported package, or a file that a package imports. */
function missingPackageRefusal(error: unknown): Refusal | undefined {
  const { errors = [] } = error as Partial<BuildFailure>
  const missing = errors.flatMap(({ text, location }) => {
    const [, name] = /^Could not resolve "(.*)"$/.exec(text) ?? []
    const isOfPackage = name && (!/^[./]/.test(name) || location?.file.includes('node_modules'))
    return isOfPackage ? [name] : []
  })
  if (missing.length === 0) return undefined
  return new Refusal(`node_modules is incomplete: "${missing[0]}" was not found. Run "npm ci" and start again.`)
}

function isUpToDate(root: string, folder: string): boolean {
  try {
    const record = JSON.parse(readFileSync(recordOf(folder), 'utf8')) as {
      root: string
      folder: string
      node: string
      stamps: Record<string, string>
    }
    if (record.root !== root || record.folder !== folder || record.node !== process.version) return false
    return Object.entries(record.stamps).every(([file, stamp]) => stampOf(root, file) === stamp)
  } catch {
    return false
  }
}

/** Returns an empty text if the file does not exist, for example for a module without a file. */
function stampOf(root: string, file: string): string {
  const stat = statSync(join(root, file), { throwIfNoEntry: false })
  return stat ? `${stat.mtimeMs} ${stat.size}` : ''
}
