import { execFile } from 'node:child_process'
import { dirname } from 'node:path'

/** How a program ended, and what it said. */
export interface Ended {
  code: number | string | null | undefined
  stdout: string
  stderr: string
}

/** Runs a program to its end, four minutes at most: a loaded machine is slow. */
export const runProgram = (
  file: string,
  args: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(file, args, { ...options, timeout: 240_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })

/**
 * PATH of a terminal outside npm: the tour is pasted there, where `node` is the machine's own, 20 or later. With `node`, the folder of this
 * program comes first.
 */
export const terminalPath = (path = '', node?: string): string =>
  [...(node ? [dirname(node)] : []), ...path.split(':').filter((entry) => !entry.includes('node_modules'))].join(':')
