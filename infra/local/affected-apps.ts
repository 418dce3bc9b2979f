import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Manifest = { name: string; dependencies?: Record<string, string> }

const read = (root: string, folder: string): Manifest | undefined => {
  const file = join(root, folder, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined
}

/** The apps (folders of apps/) that run a source file: its own app, or the apps that depend on its package. */
export const findAffectedApps = (root: string, file: string): string[] => {
  const [parent, name] = file.split('/') as [string, string]
  if (parent === 'apps') return [name]
  const changed = read(root, `packages/${name}`)?.name
  return globSync('apps/*', { cwd: root })
    .map((folder) => folder.slice('apps/'.length))
    .filter((app) => changed !== undefined && dependencies(root, app).has(changed))
}

/** The names of the workspace packages that an app depends on, also through other packages. */
const dependencies = (root: string, app: string): Set<string> => {
  const packages = globSync('packages/*', { cwd: root }).flatMap((folder) => read(root, folder) ?? [])
  const found = new Set<string>()
  const visit = (manifest: Manifest | undefined): void => {
    for (const name of Object.keys(manifest?.dependencies ?? {})) {
      const dependency = packages.find((candidate) => candidate.name === name)
      if (!dependency || found.has(name)) continue
      found.add(name)
      visit(dependency)
    }
  }
  visit(read(root, `apps/${app}`))
  return found
}
