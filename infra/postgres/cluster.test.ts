import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { state } from '../paths.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { explainFailure } from './explain-failure.ts'
import { freePort } from './free-port.ts'
import { isAlive } from './clear-stale-server.ts'
import { deleteDataFolder } from './accessible-folders.ts'

describe('an embedded cluster', () => {
  mkdirSync(state, { recursive: true })
  const folder = mkdtempSync(join(state, 'cluster-test-'))
  const password = randomBytes(12).toString('hex')
  const log = join(folder, 'postgres.log')
  const start = async (): Promise<Cluster> =>
    startCluster({ folder: join(folder, 'data'), log, password, port: 17_400, durable: false })
  const pidFile = join(folder, 'data/cluster/postmaster.pid')
  const pid = (): number => Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  const query = async (cluster: Cluster, sql: string, url = cluster.url('postgres')): Promise<unknown[]> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(sql)
    await client.end()
    return rows
  }
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await start()
  })
  afterAll(async () => {
    await cluster.stop()
    await deleteDataFolder(join(folder, 'data'))
    rmSync(folder, { recursive: true })
  })

  it('runs PostgreSQL 18 with UTF-8 and the C.UTF-8 locale of the built-in provider', async () => {
    const sql = `select datlocprovider::text as provider, datlocale as locale, pg_encoding_to_char(encoding) as encoding,
      current_setting('server_version') like '18.%' as is_18 from pg_database where datname = current_database()`
    expect(await query(cluster, sql)).toEqual([{ provider: 'b', locale: 'C.UTF-8', encoding: 'UTF8', is_18: true }])
  })

  it('rejects a wrong password', async () => {
    await expect(query(cluster, 'select 1', cluster.url('postgres').replace(password, 'guess'))).rejects.toThrow(
      /password/,
    )
  })

  it('keeps its data and its port after a stop', async () => {
    await query(cluster, 'create table kept ()')
    await cluster.stop()
    const { port } = cluster
    cluster = await start()
    expect(cluster.port).toBe(port)
    expect(await query(cluster, 'select from kept')).toEqual([])
  })

  it('starts on another port if its port is in use', async () => {
    await cluster.stop()
    const { port } = cluster
    const other = createServer().listen(port, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    cluster = await start()
    other.close()
    expect(cluster.port).toBeGreaterThan(port)
    expect(await query(cluster, 'select from kept')).toEqual([])
  })

  it('starts after its server was killed', async () => {
    process.kill(pid(), 'SIGKILL')
    await cluster.ended
    cluster = await start()
    expect(await query(cluster, 'select from kept')).toEqual([])
  })

  it('stops a server that still runs on its data folder before it starts', async () => {
    const oldPid = pid()
    cluster = await start()
    expect(isAlive(oldPid)).toBe(false)
    expect(await query(cluster, 'select from kept')).toEqual([])
  })

  it('starts if the pid file has the pid of another process', async () => {
    await cluster.stop()
    writeFileSync(pidFile, `${process.pid}\n${folder}/data/cluster\n`)
    cluster = await start()
    expect(pid()).not.toBe(process.pid)
  })

  it('logs a crash and the restart, but no values of statements that fail or crash', async () => {
    const before = readFileSync(log).length
    const client = new Client({ connectionString: cluster.url('postgres') })
    client.on('error', () => {})
    await client.connect()
    const failing = [
      ["select 'secret'::int", 'invalid input syntax'],
      ["create table twice (v text primary key); insert into twice values ('secret'), ('secret')", 'duplicate key'],
      ["do $$ begin perform 'secret'::int; end $$", 'invalid input syntax'],
    ] as const
    for (const [sql, message] of failing) await expect(client.query(sql)).rejects.toThrow(message)
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const sleeping = client.query("select pg_sleep(60), 'secret'").catch(() => {})
    await delay(100)
    process.kill(rows[0]!.pid, 'SIGKILL')
    await sleeping
    const logged = (): string => readFileSync(log).subarray(before).toString()
    for (const end = Date.now() + 10_000; !/ready to accept/.test(logged()) && Date.now() < end; ) await delay(50)
    expect(logged()).toMatch(/was terminated by signal 9[^]*database system is ready to accept connections/)
    expect(logged()).not.toContain('secret')
  })

  it('reports the parameter that has an invalid value', async () => {
    await cluster.stop()
    const wrong = { folder: join(folder, 'data'), log, password, port: 17_400, settings: { shared_buffers: 'much' } }
    await expect(startCluster(wrong)).rejects.toThrow(/invalid value for parameter "shared_buffers"/)
    cluster = await start()
  })
})

describe('explainFailure, if PostgreSQL does not start', () => {
  it('names the Debian package of a missing library', () => {
    const output =
      'initdb: error while loading shared libraries: libstdc++.so.6: cannot open shared object file: No such file'
    expect(explainFailure('initdb', output).message).toBe(
      'PostgreSQL needs the library libstdc++.so.6. Install it ("apt-get install libstdc++6" on Debian and Ubuntu).',
    )
  })

  it('says that the data folder belongs to another version', () => {
    expect(explainFailure('postgres', 'FATAL:  database files are incompatible with server\n').message).toMatch(
      /^The data folder belongs to another version of PostgreSQL \(see its file PG_VERSION\)\. /,
    )
  })

  it('says that the disk is full', () => {
    expect(explainFailure('initdb', 'could not write file: No space left on device').message).toMatch(
      /^The disk is full/,
    )
  })
})

it('freePort skips a port that is in use', async () => {
  const port = await freePort(17_700)
  const other = createServer().listen(port, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  expect(await freePort(port)).toBeGreaterThan(port)
  other.close()
})
