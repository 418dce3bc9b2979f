import { UserError } from '../user-error.ts'
import type { Workspace } from '../workspaces.ts'

/**
 * A part of the repository that can be checked alone: a workspace with its npm name, or a folder of the root project.
 */
export type Part = { folder: string; workspace?: string }

/** Folders that belong to the tsconfig.json of the root. */
const ROOT_FOLDERS = ['infra', 'bench']

/**
 * Reads the arguments of `npm run check -- …`: packages as `identity`, `apps/identity` or `@sluice/identity`, `infra`
 * and `bench`. Returns no parts without arguments. Throws UserError for an unknown name.
 */
export const selectedParts = (args: readonly string[], workspaces: readonly Workspace[]): Part[] =>
  args.map((arg) => {
    const name = arg.replace(/^\.\//, '').replace(/\/$/, '')
    const found = workspaces.find((workspace) =>
      [workspace.name, workspace.folder, shortName(workspace)].includes(name),
    )
    if (found) return { folder: found.folder, workspace: found.name }
    if (ROOT_FOLDERS.includes(name)) return { folder: name }
    const names = [...workspaces.map(shortName), ...ROOT_FOLDERS]
    throw new UserError(`The package "${arg}" does not exist. Use ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.`)
  })

const shortName = ({ folder }: Workspace): string => folder.slice(folder.indexOf('/') + 1)
