import { spawn } from 'node:child_process'
import { delimiter, resolve, sep } from 'node:path'

/** The checkout's root folder. */
export const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..')

/** An error that is shown without a stack trace. */
export class StartError extends Error {
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Returns PATH without node_modules/.bin, which npm adds, so that programs of the machine are used. */
export const withoutLocalBin = (path = '') =>
  path
    .split(delimiter)
    .filter((entry) => !entry.endsWith(`node_modules${sep}.bin`))
    .join(delimiter)

/**
 * Runs a program of the machine in `folder`. Returns its exit code or signal, its output, and whether this process
 * received a signal. The first signal is forwarded to the program, the second one kills it.
 */
export const runQuietly = (command, args, folder = root) =>
  new Promise((resolvePromise) => {
    const env = { ...process.env, PATH: withoutLocalBin(process.env.PATH), SCARF_ANALYTICS: 'false' }
    // The npm that installs must not inherit flags of the npm that started this process (npm test --workspace x).
    for (const flag of ['workspace', 'workspaces', 'include_workspace_root', 'omit', 'only', 'production', 'dry_run']) {
      delete env[`npm_config_${flag}`]
    }
    const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    let interrupted = false
    const forwardSignal = (signal) => {
      // On Ctrl-C a terminal sends the first SIGINT to the whole process group.
      if (interrupted) child.kill('SIGKILL')
      else if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
      interrupted = true
    }
    for (const signal of stopSignals) process.on(signal, forwardSignal)
    const finish = (result) => {
      for (const signal of stopSignals) process.off(signal, forwardSignal)
      resolvePromise({ ...result, interrupted })
    }
    child.on('error', (error) => finish({ code: -1, signal: null, output: error.message }))
    child.on('close', (code, signal) => finish({ code, signal, output }))
  })

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']
