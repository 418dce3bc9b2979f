import type { Workspace } from '../workspaces.ts'

/**
 * Converts the arguments of `npm test -- …` to arguments of Jest. A package (pipeline, apps/pipeline, @sluice/pipeline,
 * infra) becomes the pattern of its folder. File patterns and options of Jest stay unchanged.
 */
export const jestArguments = (args: readonly string[], workspaces: readonly Workspace[]): string[] =>
  args.map((arg, index) => {
    if (isTestName(args, index)) return arg
    const path = arg.replace(/^\.\//, '').replace(/\/$/, '')
    if (path === 'infra') return '/infra/'
    const workspace = workspaces.find(({ name, folder }) => [name, folder, folder.split('/')[1]].includes(path))
    return workspace ? `/${workspace.folder}/` : arg.replace(/^\.\//, '')
  })

/** Returns whether the arguments contain a package or a file pattern. */
export const selectsFiles = (args: readonly string[]): boolean =>
  args.some((arg, index) => !arg.startsWith('-') && !isTestName(args, index))

const isTestName = (args: readonly string[], index: number): boolean =>
  ['-t', '--testNamePattern'].includes(args[index - 1] ?? '')
