import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { connectionString } from '../postgres/cluster.ts'
import { freePort } from '../postgres/free-port.ts'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'
import { createStandInFolder, startStandInPrograms, type StartedStandIns } from './fake-app-programs.ts'

const folders: string[] = []
const starts: StartedStandIns[] = []
let nextPort = 13_100

const findFreePorts = async () => {
  const [identity, pipeline, worker] = [
    await freePort(nextPort),
    await freePort(nextPort + 30),
    await freePort(nextPort + 60),
  ]
  nextPort += 100
  return { IDENTITY_PORT: String(identity), PIPELINE_PORT: String(pipeline), WORKER_PORT: String(worker) }
}
const newFolder = (programs?: Record<string, string>): string => {
  folders.push(createStandInFolder(programs))
  return folders.at(-1)!
}
const start = (folder: string, env: NodeJS.ProcessEnv): StartedStandIns => {
  starts.push(startStandInPrograms(folder, env))
  return starts.at(-1)!
}
const stop = async (run: StartedStandIns): Promise<number | null> => {
  run.child.kill('SIGINT')
  return run.ended
}
const readPidAt = async (port: string): Promise<number> =>
  Number(await (await fetch(`http://127.0.0.1:${port}/`)).text())
const waitUntilTrue = async (check: () => boolean | Promise<boolean>): Promise<boolean> => {
  for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
    if (await check()) return true
  }
  return false
}
const waitUntilEnded = (pid: number): Promise<boolean> => waitUntilTrue(() => !isAlive(pid))
/** Returns the process id of PostgreSQL, or 0 before it starts. */
const readPostmasterPid = (folder: string): number => {
  const file = join(folder, 'state/postgres/cluster/postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) || 0 : 0
}

afterAll(async () => {
  await Promise.all(starts.map((run) => stop(run)))
  for (const folder of folders) {
    await deleteDataFolder(join(folder, 'state/postgres'))
    await deleteDataFolder(folder)
  }
})

describe('npm start', () => {
  const folder = newFolder()
  let freePorts: Awaited<ReturnType<typeof findFreePorts>>

  it('prints the address and the generated password, and stores the secrets with mode 600', async () => {
    freePorts = await findFreePorts()
    const run = start(folder, freePorts)
    await run.waitForOutput('Ctrl-C stops everything')
    expect(run.output()).toContain(`http://localhost:${freePorts.IDENTITY_PORT}/docs`)
    expect(run.output()).toContain('admin, password made up here')
    expect(statSync(join(folder, 'state/secrets.json')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(folder, 'state/logs/identity.log'), 'utf8')).toContain(
      '{"msg":"started","secret":"string","admin":"undefined","sourceMaps":true}',
    )
    expect(readFileSync(join(folder, 'state/local.json'), 'utf8')).not.toContain('made up')
  })

  it('denies the warehouse role access to all databases except its own', async () => {
    const { warehouse } = JSON.parse(readFileSync(join(folder, 'state/secrets.json'), 'utf8'))
    const port = Number(readFileSync(join(folder, 'state/postgres/port'), 'utf8'))
    for (const database of ['identity', 'pipeline', 'postgres', 'template1']) {
      const client = new Client({ connectionString: connectionString(port, 'warehouse', warehouse, database) })
      await expect(client.connect()).rejects.toThrow(/permission denied for database/)
    }
    const client = new Client({ connectionString: connectionString(port, 'warehouse', warehouse, 'warehouse') })
    await client.connect()
    const { rows } = await client.query(
      'select rolcreatedb, rolcreaterole, rolsuper from pg_roles where rolname = current_user',
    )
    expect(rows).toEqual([{ rolcreatedb: true, rolcreaterole: true, rolsuper: false }])
    await client.end()
  })

  it('ends with status 1 if Sluice is already running in this folder', async () => {
    const second = start(folder, await findFreePorts())
    expect(await second.ended).toBe(1)
    expect(second.output()).toMatch(/^✗ Sluice is already running here \(process \d+\)\. Use it.+\n$/)
  })

  it('restarts a service that exited, and prints its exit code', async () => {
    const before = await readPidAt(freePorts.WORKER_PORT)
    await fetch(`http://127.0.0.1:${freePorts.WORKER_PORT}/die`).catch(() => {})
    await starts[0]!.waitForOutput('pipeline-worker ended (exit code 3: exit requested) and is restarted in 1 s')
    expect(
      await waitUntilTrue(async () => (await readPidAt(freePorts.WORKER_PORT).catch(() => before)) !== before),
    ).toBe(true)
  })

  it('restarts PostgreSQL after it was killed', async () => {
    const before = readPostmasterPid(folder)
    process.kill(before, 'SIGKILL')
    await starts[0]!.waitForOutput('PostgreSQL ended unexpectedly')
    expect(await waitUntilTrue(() => readPostmasterPid(folder) > 0 && readPostmasterPid(folder) !== before)).toBe(true)
  })

  it('stops the services and PostgreSQL on SIGINT, also when npm sends the signal twice', async () => {
    const database = readPostmasterPid(folder)
    const service = await readPidAt(freePorts.IDENTITY_PORT)
    starts[0]!.child.kill('SIGINT')
    expect(await stop(starts[0]!)).toBe(0)
    expect([database, service].filter(isAlive)).toEqual([])
    expect(readFileSync(join(folder, 'state/logs/pipeline.log'), 'utf8')).toContain('stopped')
    expect(existsSync(join(folder, 'state/local.json'))).toBe(false)
  })

  it('keeps the password for the next start, and starts after it was killed while PostgreSQL still runs', async () => {
    const run = start(folder, freePorts)
    await run.waitForOutput('Ctrl-C stops everything')
    expect(run.output()).not.toContain('made up here')
    const [database, service] = [readPostmasterPid(folder), await readPidAt(freePorts.PIPELINE_PORT)]
    run.child.kill('SIGKILL')
    expect(await waitUntilEnded(service)).toBe(true)
    expect(isAlive(database)).toBe(true)
    const next = start(folder, freePorts)
    await next.waitForOutput('Ctrl-C stops everything')
    expect(isAlive(database)).toBe(false)
    expect(await stop(next)).toBe(0)
  })
})

describe('npm start, if it cannot run', () => {
  it('names the port in use, the process that uses it, and the variable to set', async () => {
    const freePorts = await findFreePorts()
    const other = createServer().listen(Number(freePorts.PIPELINE_PORT), '127.0.0.1')
    const run = start(newFolder(), freePorts)
    expect(await run.ended).toBe(1)
    expect(run.output()).toMatch(new RegExp(`^✗ Port ${freePorts.PIPELINE_PORT}, for the pipeline service, is in use`))
    expect(run.output()).toContain(`by process ${process.pid}`)
    expect(run.output()).toMatch(/"PIPELINE_PORT=\d+ npm start"/)
    other.close()
  })

  it('rejects an invalid port', async () => {
    const run = start(newFolder(), { ...(await findFreePorts()), WORKER_PORT: '80x' })
    expect(await run.ended).toBe(1)
    expect(run.output()).toBe('✗ WORKER_PORT must be a port from 1 to 65535, not "80x".\n')
  })

  it('prints the last output of a service that cannot start, and stops the other services and PostgreSQL', async () => {
    const folder = newFolder({
      'apps/pipeline/bin/serve.ts': "process.stderr.write('The key ring is empty.\\n'); process.exit(1)",
    })
    const freePorts = await findFreePorts()
    const run = start(folder, freePorts)
    expect(await run.ended).toBe(1)
    expect(run.output()).toMatch(/✗ pipeline could not start \(exit code 1\):\nThe key ring is empty\.\n$/)
    expect(existsSync(join(folder, 'state/postgres/cluster/postmaster.pid'))).toBe(false)
    await expect(readPidAt(freePorts.IDENTITY_PORT)).rejects.toThrow()
  })

  it('refuses to create new secrets if secrets.json is missing and data exists', async () => {
    const folder = newFolder({ 'state/postgres/port': '1' })
    const run = start(folder, await findFreePorts())
    expect(await run.ended).toBe(1)
    expect(run.output()).toMatch(/secrets\.json is missing, and the data cannot be decrypted without it/)
  })
})
