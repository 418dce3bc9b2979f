import { spawn } from 'node:child_process'
import { delimiter, resolve, sep } from 'node:path'

/** The checkout's root folder. */
export const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..')

/** A failure that is shown as its message alone. */
export class Stop extends Error {
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** PATH without node_modules/.bin, which npm puts first: the machine's own programs, also while node_modules is rebuilt. */
export const withoutLocalBin = (path = '') =>
  path
    .split(delimiter)
    .filter((entry) => !entry.endsWith(`node_modules${sep}.bin`))
    .join(delimiter)

/**
 * Runs a program of the machine in `folder`, and collects its output. Resolves to how it ended, all that it wrote, and whether this process was
 * asked to stop meanwhile: the signal goes to the program, a second one ends it at once.
 */
export const runQuietly = (command, args, folder = root) =>
  new Promise((done) => {
    const env = { ...process.env, PATH: withoutLocalBin(process.env.PATH), SCARF_ANALYTICS: 'false' }
    // Flags of the npm that started us (npm test --workspace x) are not meant for the npm that installs.
    for (const flag of ['workspace', 'workspaces', 'include_workspace_root', 'omit', 'only', 'production', 'dry_run']) {
      delete env[`npm_config_${flag}`]
    }
    const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
    let interrupted = false
    const passOn = (signal) => {
      // On Ctrl-C a terminal sends the first SIGINT to the whole process group.
      if (interrupted) child.kill('SIGKILL')
      else if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
      interrupted = true
    }
    for (const signal of stopSignals) process.on(signal, passOn)
    const finish = (ending) => {
      for (const signal of stopSignals) process.off(signal, passOn)
      done({ ...ending, interrupted })
    }
    child.on('error', (error) => finish({ code: -1, signal: null, said: error.message }))
    child.on('close', (code, signal) => finish({ code, signal, said }))
  })

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']
