import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Manifest = { name: string; dependencies?: Record<string, string> }

const readManifest = (root: string, folder: string): Manifest | undefined => {
  const file = join(root, folder, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined
}

/** Returns the apps (folders of apps/) that run a source file: its own app, or all apps that depend on its package. */
export const findAffectedApps = (root: string, file: string): string[] => {
  const [parent, name] = file.split('/') as [string, string]
  if (parent === 'apps') return [name]
  const changed = readManifest(root, `packages/${name}`)?.name
  return globSync('apps/*', { cwd: root })
    .map((folder) => folder.slice('apps/'.length))
    .filter((app) => changed !== undefined && findDependencies(root, app).has(changed))
}

/** Returns the names of the workspace packages that an app depends on, directly and indirectly. */
const findDependencies = (root: string, app: string): Set<string> => {
  const packages = globSync('packages/*', { cwd: root }).flatMap((folder) => readManifest(root, folder) ?? [])
  const names = new Set<string>()
  const visit = (manifest: Manifest | undefined): void => {
    for (const name of Object.keys(manifest?.dependencies ?? {})) {
      const dependency = packages.find((candidate) => candidate.name === name)
      if (!dependency || names.has(name)) continue
      names.add(name)
      visit(dependency)
    }
  }
  visit(readManifest(root, `apps/${app}`))
  return names
}
