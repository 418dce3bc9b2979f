import { execFile } from 'node:child_process'
import { dirname } from 'node:path'

/** The exit code and the output of a program. */
export interface ProgramResult {
  code: number | string | null | undefined
  stdout: string
  stderr: string
}

/** Runs a program for at most four minutes, because a busy machine is slow. */
export const runProgram = (
  file: string,
  args: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<ProgramResult> =>
  new Promise((resolve) => {
    const child = execFile(file, args, { ...options, timeout: 240_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })

/**
 * Returns the PATH of a terminal outside npm, without node_modules. The folder of the program `node`, if given, comes
 * first.
 */
export const terminalPath = (path = '', node?: string): string =>
  [...(node ? [dirname(node)] : []), ...path.split(':').filter((entry) => !entry.includes('node_modules'))].join(':')
