import { deepStrictEqual } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../paths.ts'
import type { Stack } from './compose-project.ts'

type LockEntry = {
  link?: boolean
  resolved?: string
  optional?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}
type LockEntries = Record<string, LockEntry>

/**
 * Throws unless an image contains exactly one application and its production packages, without tests and package
 * managers.
 */
export const assertProductionFilesOnly = async (stack: Stack, app: string): Promise<void> => {
  const lock: LockEntries = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')).packages
  const needed = findRequiredPackages(lock, `apps/${app}`)
  const files = await stack.docker([
    'run',
    '--rm',
    '--network=none',
    '--user=0',
    stack.image(app),
    'find',
    '/',
    '-xdev',
    '-type',
    'f',
    '-printf',
    '%M %p\\n',
  ])
  const lines = files.split('\n')
  const unreadable = lines.filter((line) => line.slice(11).startsWith('/sluice/') && line[7] !== 'r')
  deepStrictEqual(unreadable, [], `files of Sluice that the user of the image ${app} cannot read`)
  const paths = lines.map((line) => line.slice(11))

  const packages = paths.flatMap(
    (path) =>
      /^\/sluice\/((?:(?:apps|packages)\/[^/]+\/)?(?:node_modules\/(?:@[^/]+\/)?[^/]+\/?)+)\/package\.json$/.exec(
        path,
      )?.[1] ?? [],
  )
  if (packages.length === 0) throw new Error(`the image ${app} contains no packages`)
  deepStrictEqual(
    packages.filter((path) => !needed.has(path)),
    [],
    `packages in the image ${app} that it does not need`,
  )
  const missing = [...needed].filter((path) => lock[path]?.optional !== true && !packages.includes(path))
  deepStrictEqual(missing, [], `packages that the image ${app} lacks`)

  const unwanted = new RegExp(
    `^/sluice/(apps/(?!${app}/)|packages/testing/|(apps|packages)/[^/]+/test/)|^/sluice/(apps|packages)/.*\\.test\\.ts$|/\\.npm/|/npm/package\\.json$`,
  )
  deepStrictEqual(
    paths.filter((path) => unwanted.test(path)),
    [],
    `files that the image ${app} must not contain`,
  )
}

/** Returns the lock file paths of all packages that a workspace needs in production, resolved as Node resolves them. */
const findRequiredPackages = (lock: LockEntries, workspace: string): Set<string> => {
  const required = new Set<string>([workspace])
  for (const path of required) {
    const entry = lock[path]
    const wanted = { ...entry?.dependencies, ...entry?.optionalDependencies, ...entry?.peerDependencies }
    const isOptionalPeer = (name: string) => entry?.peerDependenciesMeta?.[name]?.optional === true
    for (const name of Object.keys(wanted).filter((wantedName) => !isOptionalPeer(wantedName))) {
      const found = resolveFrom(lock, path, name)
      if (found !== undefined) required.add(lock[found]?.link === true ? (lock[found].resolved ?? found) : found)
    }
  }
  return new Set([...required].filter((path) => path.includes('node_modules/')))
}

const resolveFrom = (lock: LockEntries, from: string, name: string): string | undefined => {
  for (let folder = from; ; folder = folder.replace(/\/?[^/]*$/, '')) {
    const path = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`
    if (lock[path] !== undefined) return path
    if (folder === '') return undefined
  }
}
