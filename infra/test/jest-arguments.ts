import type { Workspace } from '../workspaces.ts'

/**
 * Reads the arguments of `npm test -- …` into Jest's: a package (pipeline, apps/pipeline, @sluice/pipeline, infra) becomes
 * the pattern of its folder; everything else is a file pattern or an option of Jest and stays as it is.
 */
export const jestArguments = (args: readonly string[], workspaces: readonly Workspace[]): string[] =>
  args.map((arg, index) => {
    if (isTestName(args, index)) return arg
    const path = arg.replace(/^\.\//, '').replace(/\/$/, '')
    if (path === 'infra') return '/infra/'
    const workspace = workspaces.find(({ name, folder }) => [name, folder, folder.split('/')[1]].includes(path))
    return workspace ? `/${workspace.folder}/` : arg.replace(/^\.\//, '')
  })

/** Whether the arguments name files: then only these run. */
export const selectsFiles = (args: readonly string[]): boolean =>
  args.some((arg, index) => !arg.startsWith('-') && !isTestName(args, index))

const isTestName = (args: readonly string[], index: number): boolean =>
  ['-t', '--testNamePattern'].includes(args[index - 1] ?? '')
