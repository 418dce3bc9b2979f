import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../paths.ts'
import { freePort } from '../postgres/free-port.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'

/** An installation as of `npm start`, with separate ports and a separate folder. Disposal stops and deletes it. */
export interface RunningStack extends AsyncDisposable {
  identityUrl: string
  pipelineUrl: string
  password: string
  /** A folder for files of the tests. */
  folder: string
  /** The environment for programs that use this installation. */
  env: NodeJS.ProcessEnv
}

/** The timeouts of the services are shorter and have better messages. */
const startTimeoutMs = 60_000

/**
 * Starts PostgreSQL, both services and the worker as `npm start` does, with `more` environment variables. Rejects with
 * the output if the start fails.
 */
export const startStack = async (more: NodeJS.ProcessEnv = {}): Promise<RunningStack> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tour-'))
  const state = join(folder, 'state')
  const password = 'Only for the tour, and $o it is long'
  // Test files that run in parallel start at different ports, so that they do not choose the same one.
  const identity = await freePort(14_100 + (process.pid % 100) * 10)
  const pipeline = await freePort(identity + 1)
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    // Programs must not inherit Jest's options of Node.
    NODE_OPTIONS: '',
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
    SLUICE_DIRECTORY: state,
    SLUICE_ADMIN_PASSWORD: password,
    IDENTITY_PORT: String(identity),
    PIPELINE_PORT: String(pipeline),
    WORKER_PORT: String(await freePort(pipeline + 1)),
    ...more,
  }
  // Ends the installation if the test run is killed.
  const stopWithParent = join(root, 'infra/local/stop-with-parent.ts')
  const child = spawn(process.execPath, ['--import', stopWithParent, join(root, 'infra/local/start.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGINT')
    await ended
    await deleteDataFolder(join(state, 'postgres'))
    await deleteDataFolder(folder)
  }
  try {
    await waitForOutput(child, 'Ctrl-C stops everything')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    identityUrl: `http://localhost:${identity}`,
    pipelineUrl: `http://localhost:${pipeline}`,
    password,
    folder,
    env,
    [Symbol.asyncDispose]: stop,
  }
}

/** Resolves when the text was printed. Rejects with the output if the process ends before, or after the timeout. */
const waitForOutput = (child: ChildProcess, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    let output = ''
    const fail = (why: string): void => reject(new Error(`${why} before "${text}" was printed: ${output}`))
    const timer = setTimeout(fail, startTimeoutMs, `${startTimeoutMs} ms passed`)
    child.once('close', (code) => {
      clearTimeout(timer)
      fail(`The start ended with ${code}`)
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (piece: string) => {
        output += piece
        if (!output.includes(text)) return
        clearTimeout(timer)
        resolve()
      })
    }
  })
