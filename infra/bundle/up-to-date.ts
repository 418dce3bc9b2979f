import { readFileSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'

/** Beside what was built: which files it was made of, and when and how large each of them was. */
const recordOf = (folder: string) => join(folder, 'made-of.json')

/** What a build depends on besides the files that went into it. */
const always = ['package-lock.json', 'infra/bundle/bundle.ts', 'infra/bundle/in-place.ts']

/** Bundles anew unless the folder holds what the sources of now would give. Two at the same time need a folder each. */
export async function bringUpToDate(root: string, folder: string): Promise<void> {
  if (isUpToDate(root, folder)) return
  await rm(recordOf(folder), { force: true })
  const files = [...(await bundle(root, folder)), ...always]
  const stamps = Object.fromEntries(files.map((file) => [file, stampOf(root, file)]))
  await writeFile(recordOf(folder), JSON.stringify({ root, folder, node: process.version, stamps }))
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

/** Empty for what is not there, such as a module that has no file. */
function stampOf(root: string, file: string): string {
  const stat = statSync(join(root, file), { throwIfNoEntry: false })
  return stat ? `${stat.mtimeMs} ${stat.size}` : ''
}
