import { execFile } from 'node:child_process'

/** Runs a program and returns its standard output. Throws with the end of its output if it fails or times out. */
export const run = (
  program: string,
  args: string[],
  options: { env?: NodeJS.ProcessEnv; seconds?: number; signal?: AbortSignal | undefined } = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const limits = { maxBuffer: 256 * 1024 * 1024, timeout: (options.seconds ?? 120) * 1000, signal: options.signal }
    execFile(program, args, { ...limits, env: options.env ?? process.env }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const end = error.killed === true ? `took longer than ${options.seconds ?? 120} s` : `ended with ${error.code}`
      reject(new Error(`${program} ${args.join(' ')} ${end}:\n${`${stdout}${stderr}`.slice(-4000)}`))
    })
  })
