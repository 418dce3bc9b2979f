import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../paths.ts'
import { freePort } from '../postgres/free-port.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'

/** What `npm start` starts, on ports and in a folder of its own; stopped and deleted when disposed. */
export interface RunningStack extends AsyncDisposable {
  identityUrl: string
  pipelineUrl: string
  password: string
  /** For files of the tests. */
  folder: string
  /** What a program that is to find this installation is started with. */
  env: NodeJS.ProcessEnv
}

/** Milliseconds; the services' own time-outs are shorter and say more. */
const startTimeoutMs = 60_000

/**
 * Starts PostgreSQL, both services and the worker as `npm start` does, with these further environment variables. Rejects
 * with what the start said.
 */
export const startStack = async (more: NodeJS.ProcessEnv = {}): Promise<RunningStack> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tour-'))
  const state = join(folder, 'state')
  const password = 'Only for the tour, and $o it is long'
  const identity = await freePort(14_100)
  const pipeline = await freePort(identity + 1)
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    // What jest needs is not meant for the programs that it starts.
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
  // A test run that is killed cannot stop what it started: it ends by itself.
  const leave = join(root, 'infra/local/stop-with-parent.ts')
  const child = spawn(process.execPath, ['--import', leave, join(root, 'infra/local/start.ts')], {
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
    await said(child, 'Ctrl-C stops everything')
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

/** Settles when the text was said; rejects with all that was said when the process ends before or takes too long. */
const said = (child: ChildProcess, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    let heard = ''
    const give = (why: string): void => reject(new Error(`${why} before "${text}" was said: ${heard}`))
    const timer = setTimeout(give, startTimeoutMs, `${startTimeoutMs} ms passed`)
    child.once('close', (code) => {
      clearTimeout(timer)
      give(`The start ended with ${code}`)
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (piece: string) => {
        heard += piece
        if (!heard.includes(text)) return
        clearTimeout(timer)
        resolve()
      })
    }
  })
