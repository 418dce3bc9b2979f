import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '@sluice/testing/free-port'

const program = join(
  process.env['SLUICE_TEST_PROGRAMS'] ?? 'nowhere',
  'azurite-3.36.0/node_modules/azurite/dist/src/blob/main.js',
)

/** The reason to skip tests that need Azurite; undefined if it is installed. */
export const azuriteMissing = (): string | undefined =>
  existsSync(program) ? undefined : 'azurite is not installed, which `npm test` does where it can'

/** The account that every Azurite has; its key is published. */
export const account = 'devstoreaccount1'
export const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export interface Azurite extends AsyncDisposable {
  endpoint: string
  /** Stores a blob; without bytes, a container. */
  put(path: string, bytes?: Uint8Array, headers?: Record<string, string>): Promise<void>
  remove(path: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Microsoft's stand-in for Azure Storage on a loopback port, gone when it is disposed of. It checks signatures. */
export async function startAzurite(): Promise<Azurite> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-azurite-'))
  const port = await freePort()
  const child = spawn(
    process.execPath,
    [
      program,
      '--blobHost',
      '127.0.0.1',
      '--blobPort',
      String(port),
      '--location',
      folder,
      '--silent',
      '--disableTelemetry',
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } },
  )
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => void (said += chunk.toString()))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  const endpoint = `http://127.0.0.1:${port}/${account}`
  try {
    await ready(endpoint, () => child.exitCode === null)
  } catch (cause) {
    await stop()
    throw new Error(`Azurite did not start: ${said.slice(-2000)}`, { cause })
  }
  return {
    endpoint,
    put: (path, bytes, headers) =>
      bytes
        ? send('PUT', endpoint, path, bytes, { ...headers, 'x-ms-blob-type': 'BlockBlob' })
        : send('PUT', endpoint, `${path}?restype=container`),
    remove: (path) => send('DELETE', endpoint, path),
    [Symbol.asyncDispose]: stop,
  }
}

async function ready(endpoint: string, runs: () => boolean): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await send('PUT', endpoint, 'ready?restype=container')
    } catch (error) {
      if (!runs() || tries > 1200) throw error
      await pause(100)
    }
  }
}

/** Signed apart from the code under test, which only reads. */
async function send(
  method: string,
  endpoint: string,
  path: string,
  bytes: Uint8Array = Buffer.alloc(0),
  more: Record<string, string> = {},
): Promise<void> {
  const [name = '', query = ''] = path.split('?')
  const url = new URL(`${endpoint}/${name.split('/').map(encodeURIComponent).join('/')}${query && `?${query}`}`)
  const headers: Record<string, string> = {
    ...more,
    'x-ms-date': new Date().toUTCString(),
    'x-ms-version': '2021-12-02',
  }
  const own = Object.keys(headers)
    .filter((key) => key.startsWith('x-ms-'))
    .toSorted()
    .map((key) => `${key}:${headers[key]}\n`)
    .join('')
  const asked = query ? `\n${query.replace('=', ':')}` : ''
  const text = `${method}\n\n\n${bytes.length || ''}\n\n\n\n\n\n\n\n\n${own}/${account}${url.pathname}${asked}`
  const signature = createHmac('sha256', Buffer.from(accountKey, 'base64')).update(text).digest('base64')
  headers['authorization'] = `SharedKey ${account}:${signature}`
  const response = await fetch(url, { method, headers, ...(bytes.length > 0 && { body: Buffer.from(bytes) }) })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`)
}

/** A token that may read and list one container, and is valid for an hour. */
export function sasToken(container: string, permissions = 'rl'): string {
  const [start, end] = ['', new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '')]
  const version = '2020-12-06'
  const fields = [
    permissions,
    start,
    end,
    `/blob/${account}/${container}`,
    '',
    '',
    '',
    version,
    'c',
    '',
    '',
    '',
    '',
    '',
    '',
    '',
  ]
  const text = fields.join('\n')
  const signature = createHmac('sha256', Buffer.from(accountKey, 'base64')).update(text).digest('base64')
  return new URLSearchParams({ sv: version, sp: permissions, se: end, sr: 'c', sig: signature }).toString()
}
