import type { Workspace } from '../workspaces.ts'

/** What one run of the tests covers. */
export type Selection = { packages: string[]; infra: boolean; jest: string[] }

/**
 * Reads the arguments of `npm test -- …`. A package (pipeline, apps/pipeline, @sluice/pipeline, infra) or a path inside
 * one picks that package; the rest, and the path inside, goes to jest as a file pattern or option. No package named: all.
 */
export const selection = (args: string[], workspaces: Workspace[]): Selection => {
  const packages: string[] = []
  const jest: string[] = []
  let infra = false
  for (const arg of args) {
    const path = arg.replace(/^\.\//, '').replace(/\/$/, '')
    const found = workspaces.find(
      ({ name, folder }) => [name, folder, folder.split('/')[1]].includes(path) || path.startsWith(`${folder}/`),
    )
    if (found) packages.push(found.name)
    else if (path === 'infra' || path.startsWith('infra/')) infra = true
    const inside = found && path.startsWith(`${found.folder}/`) ? path.slice(found.folder.length + 1) : path
    const isWhole = path === 'infra' || (found && inside === path)
    if (!isWhole) jest.push(inside)
  }
  const all = packages.length === 0 && !infra
  return all ? { packages: workspaces.map(({ name }) => name), infra: true, jest } : { packages, infra, jest }
}
