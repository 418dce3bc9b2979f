import { type ChildProcess, spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../postgres/free-port.ts'

/** A started checkout. Requests are sent as the administrator. */
export interface StartedCheckout {
  identity: (path: string, request?: ApiRequest) => Promise<any>
  pipeline: (path: string, request?: ApiRequest) => Promise<any>
  /** Stops the checkout as Ctrl-C does. */
  stop(): Promise<void>
  /** Kills PostgreSQL, the services and the worker without a shutdown. */
  kill(): Promise<void>
}

export interface ApiRequest {
  method?: string
  /** A string is sent unchanged, other values as JSON. */
  body?: unknown
  type?: string
  /** Default: the access token of the administrator. */
  token?: string
}

/** The password of the administrator `admin`. */
export const adminPassword = 'Only for upgrades, and long enough'

/** Milliseconds. The first start of a commit installs its dependencies. */
const startTimeoutMs = 600_000

/** Runs `npm start` in a checkout with the data folder `state`. Throws with the output of the start if it fails. */
export async function startCheckout(
  folder: string,
  { state, allowed }: { state: string; allowed: string },
): Promise<StartedCheckout> {
  const identityPort = await freePort(15_100)
  const pipelinePort = await freePort(identityPort + 1)
  const child = spawn('npm', ['start'], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      NO_COLOR: '1',
      SLUICE_DIRECTORY: state,
      SLUICE_ADMIN_PASSWORD: adminPassword,
      IDENTITY_PORT: String(identityPort),
      PIPELINE_PORT: String(pipelinePort),
      WORKER_PORT: String(await freePort(pipelinePort + 1)),
      OUTGOING_ALLOWED: allowed,
    },
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await waitForOutput(child, 'Ctrl-C stops everything')
  const identityUrl = `http://localhost:${identityPort}`
  const signedIn = await send(`${identityUrl}/api/v1/auth/login`, {
    body: { username: 'admin', password: adminPassword },
  })
  const call =
    (base: string) =>
    (path: string, request: ApiRequest = {}) =>
      send(`${base}/api/v1${path}`, { token: signedIn.accessToken, ...request })
  return {
    identity: call(identityUrl),
    pipeline: call(`http://localhost:${pipelinePort}`),
    async stop() {
      process.kill(-child.pid!, 'SIGINT')
      await ended
    },
    async kill() {
      const [file] = globSync('postgres/**/postmaster.pid', { cwd: state })
      const postmaster = Number((await readFile(join(state, file!), 'utf8')).split('\n')[0])
      for (const target of [-child.pid!, postmaster]) process.kill(target, 'SIGKILL')
      await ended
      // PostgreSQL's processes end by themselves once their postmaster is gone.
      await sleep(2_000)
    },
  }
}

async function send(url: string, { method, body, type = 'application/json', token }: ApiRequest): Promise<any> {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body !== undefined && { 'content-type': type }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method ?? ''} ${url} returned ${response.status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

function waitForOutput(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (why: string) => reject(new Error(`${why} before "${text}" was printed:\n${output}`))
    const timer = setTimeout(fail, startTimeoutMs, `${startTimeoutMs / 1000} s passed`)
    child.once('close', (code) => {
      clearTimeout(timer)
      fail(`The start ended with ${code}`)
    })
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        output += piece
        if (!output.includes(text)) return
        clearTimeout(timer)
        resolve()
      })
  })
}
