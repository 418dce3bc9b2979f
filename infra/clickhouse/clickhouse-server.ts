import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '@sluice/testing/free-port'

/** A ClickHouse process with an HTTP interface at a loopback port. */
export interface ClickHouseServer {
  url: string
  /** Shuts the server down, or kills it with `signal`. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

interface ServerOptions {
  /** The path of ClickHouse as a shared library. */
  library: string
  /** The data folder. */
  data: string
  /** The content of users.xml. */
  users: string
}

/** Milliseconds. */
const startTimeoutMs = 120_000
const config = '<clickhouse><users_config>users.xml</users_config></clickhouse>'

/** Starts ClickHouse, which ends with this process. Throws with its output if it does not become ready. */
export async function startServer({ library, data, users }: ServerOptions): Promise<ClickHouseServer> {
  await mkdir(data, { recursive: true })
  await writeFile(join(data, 'users.xml'), users, { mode: 0o600 })
  await writeFile(join(data, 'config.xml'), config)
  const port = await freePort()
  // ClickHouse runs until this query ends, and the select ends when the input is closed.
  const query = `system start listen http; select * from file('-', LineAsString, 'line String') format Null`
  const options = { 'config-file': join(data, 'config.xml'), path: join(data, 'tables'), http_port: port }
  const flags = Object.entries({ ...options, listen_host: '127.0.0.1', query })
  const program = join(import.meta.dirname, 'clickhouse-server.py')
  const child = spawn('python3', [program, library, ...flags.map(([name, value]) => `--${name}=${value}`)], {
    stdio: ['pipe', 'ignore', 'pipe'],
    cwd: data,
  })
  let errorOutput = ''
  child.stderr.on('data', (chunk: Buffer) => void (errorOutput = (errorOutput + chunk.toString()).slice(-4_000)))
  const ended = once(child, 'close')
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + startTimeoutMs
  while (!(await isReady(url))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`ClickHouse did not start: ${errorOutput}`)
    }
    await pause(20)
  }
  return {
    url,
    async stop(signal) {
      if (signal) child.kill(signal)
      else child.stdin.end()
      await ended
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/ping`).catch(() => undefined)
  await response?.body?.cancel()
  return response?.ok === true
}
