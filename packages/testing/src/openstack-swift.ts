import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { AwsV4Signer } from 'aws4fetch'

const proxy = '/usr/bin/swift-proxy-server'

/** Returns why OpenStack Swift cannot be started on this machine, or undefined if it can. */
export const swiftMissing = (): string | undefined =>
  existsSync(proxy) && existsSync('/usr/bin/swift-object-server') && existsSync('/usr/bin/memcached')
    ? undefined
    : 'Debian’s swift-proxy, swift-object, swift-container, swift-account or memcached is not installed'

export interface Swift extends AsyncDisposable {
  /** The URL of Swift's S3 API. */
  endpoint: string
  accessKey: string
  secretKey: string
  region: string
  /** Stores an object. Without `bytes`, creates a bucket. */
  put(path: string, bytes?: Uint8Array, headers?: Record<string, string>): Promise<void>
  remove(path: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const [accessKey, secretKey, region] = ['test:tester', 'testing+secret/key', 'eu-west-1']

/**
 * Starts an OpenStack Swift server with an S3 API that checks signatures, on loopback ports. Dispose the result to stop
 * it.
 */
export async function startSwift(): Promise<Swift> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-swift-'))
  const [web, object, container, account, memory] = await Promise.all(Array.from({ length: 5 }, freePort))
  const children: ChildProcess[] = []
  const start = (program: string, ...args: string[]) =>
    children.push(spawn(program, args, { cwd: folder, stdio: 'ignore' }))
  const stop = async () => {
    await Promise.all(children.map(ended))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await mkdir(join(folder, 'node', 'disk'), { recursive: true })
    await writeFile(
      join(folder, 'swift.conf'),
      settings({ 'swift-hash': hashes, 'storage-policy:0': { name: 'gold', default: 'yes' } }),
    )
    start('/usr/bin/memcached', '-u', 'root', '-l', '127.0.0.1', '-p', String(memory))
    const stores = Object.entries({ object, container, account })
    await promisify(execFile)('/usr/bin/python3', ['-c', makeRings, ...stores.flat().map(String)], { cwd: folder })
    for (const [name, port] of stores) {
      await writeFile(join(folder, `${name}-server.conf`), settings(storageServer(folder, name, port!)))
      start(`/usr/bin/swift-${name}-server`, join(folder, `${name}-server.conf`))
    }
    await writeFile(join(folder, 'proxy-server.conf'), settings(proxyServer(folder, web!, memory!)))
    start(proxy, join(folder, 'proxy-server.conf'))
    const endpoint = `http://127.0.0.1:${web}`
    const send = sender(endpoint)
    const runs = () => children.every(({ exitCode }) => exitCode === null)
    // Waits for the other servers before it uses the proxy. The proxy avoids a server that has failed some requests,
    // such as one that has not started yet, for a minute.
    for (const port of [memory, object, container, account, web]) await untilDone(() => connect(port!), runs)
    await untilDone(() => send('PUT', 'ready'), runs)
    await untilDone(() => send('PUT', 'ready/object', Buffer.from('x')), runs)
    return { ...swiftAt(endpoint), [Symbol.asyncDispose]: stop }
  } catch (cause) {
    const said = await readFile(join(folder, 'proxy-server.conf'), 'utf8').catch(() => '')
    await stop()
    throw new Error(`Swift did not start with ${said}`, { cause })
  }
}

/** Returns access to the running Swift server at this endpoint. */
export function swiftAt(endpoint: string): Omit<Swift, typeof Symbol.asyncDispose> {
  const send = sender(endpoint)
  return {
    endpoint,
    accessKey,
    secretKey,
    region,
    put: (path, bytes, headers) => send('PUT', path, bytes, headers),
    remove: (path) => send('DELETE', path),
  }
}

function sender(endpoint: string) {
  return async (method: string, path: string, bytes?: Uint8Array, headers: Record<string, string> = {}) => {
    const url = new URL(`${endpoint}/${path.split('/').map(encodeURIComponent).join('/')}`)
    const keys = { accessKeyId: accessKey, secretAccessKey: secretKey, service: 's3', region }
    const signed = await new AwsV4Signer({ method, url: url.href, headers, ...keys }).sign()
    const body = bytes && { body: Buffer.from(bytes) }
    const response = await fetch(url, { method, headers: signed.headers, ...body })
    const said = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${said}`)
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await closed
}

/** Repeats a call every 0.1 s for two minutes. Throws the last error, or stops at once if a server has ended. */
async function untilDone(step: () => Promise<void>, runs: () => boolean): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await step()
    } catch (error) {
      if (!runs() || tries > 1200) throw error
      await pause(100)
    }
  }
}

async function connect(port: number): Promise<void> {
  const socket = createConnection(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
}

type Sections = Record<string, Record<string, string | number>>

const hashes = { swift_hash_path_suffix: 'suffix', swift_hash_path_prefix: 'prefix' }

const settings = (sections: Sections): string =>
  Object.entries(sections)
    .map(([name, lines]) =>
      [`[${name}]`, ...Object.entries(lines).map(([key, value]) => `${key} = ${value}`)].join('\n'),
    )
    .join('\n')

/**
 * The seconds in which servers answer each other. The defaults, 0.5 s for a connection and 1 s for the list of objects,
 * are too short for a busy machine: the proxy then avoids a server for a minute, or a new object is not listed yet.
 */
const serverTimeouts = { conn_timeout: 60, node_timeout: 60, container_update_timeout: 60 }

const server = (folder: string, port: number) => ({
  bind_ip: '127.0.0.1',
  bind_port: port,
  workers: 0,
  user: userInfo().username,
  swift_dir: folder,
  log_address: join(folder, 'log'),
})

const storageServer = (folder: string, name: string, port: number): Sections => ({
  DEFAULT: {
    ...server(folder, port),
    devices: join(folder, 'node'),
    mount_check: 'false',
    disable_fallocate: 'true',
    recon_cache_path: folder,
  },
  'pipeline:main': { pipeline: `${name}-server` },
  [`app:${name}-server`]: { use: `egg:swift#${name}`, ...serverTimeouts },
})

function proxyServer(folder: string, port: number, memory: number): Sections {
  const filters = ['catch_errors', 'cache', 'listing_formats', 's3api', 'tempauth', 'bulk', 'slo', 'dlo']
  const own: Record<string, Record<string, string>> = {
    cache: { use: 'egg:swift#memcache', memcache_servers: `127.0.0.1:${memory}` },
    tempauth: {
      use: 'egg:swift#tempauth',
      [`user_${accessKey.replace(':', '_')}`]: `${secretKey} .admin .reseller_admin`,
    },
    s3api: { use: 'egg:swift#s3api', s3_acl: 'no', location: region },
  }
  return {
    DEFAULT: server(folder, port),
    'pipeline:main': { pipeline: [...filters, 'proxy-server'].join(' ') },
    'app:proxy-server': {
      use: 'egg:swift#proxy',
      allow_account_management: 'true',
      account_autocreate: 'true',
      ...serverTimeouts,
    },
    ...Object.fromEntries(filters.map((name) => [`filter:${name}`, own[name] ?? { use: `egg:swift#${name}` }])),
  }
}

/**
 * A Python program that creates Swift's rings, with one replica on one disk. Swift's own command does only one step of
 * one ring per process.
 */
const makeRings = `
import sys
from swift.common.ring import RingBuilder
for name, port in zip(sys.argv[1::2], sys.argv[2::2]):
    builder = RingBuilder(4, 1, 1)
    place = {'ip': '127.0.0.1', 'port': int(port), 'replication_ip': '127.0.0.1', 'replication_port': int(port)}
    builder.add_dev({'region': 1, 'zone': 1, 'device': 'disk', 'weight': 1.0, 'meta': '', **place})
    builder.rebalance()
    builder.get_ring().save(name + '.ring.gz')
`
