import { getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import type { Client } from 'pg'
import { type PublicServer, startPublicServer } from '../../../test/server-with-public-address.ts'
import { connected, connectedAs } from '../../../test/scratch-warehouse.ts'
import { newReaderLogin, newReaderPassword, readerLimits } from '../../warehouse-reader-logins.ts'
import type { WarehouseAccess } from '../postgres-connections.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'
import { prepareWarehouseServer } from './prepare-server.ts'
import { provisionWarehouse } from './provision-warehouse.ts'
import { postgresReaders } from './reader-roles.ts'

type Session = Awaited<ReturnType<typeof connected>>
interface Login {
  user: string
  password: string
  database: string
}

describe('the sessions of readers, on a server that Sluice runs', () => {
  const keys = ['attacker', 'second', 'third'] as const
  const clientOf = (key: string) => ({ key, loadPassword: `${key}-load`, readPassword: `${key}-read` })
  const open = new Set<Session>()
  let server: PublicServer
  let access: WarehouseAccess
  beforeAll(async () => {
    // 67 connections for readers, and half a megabyte for notifications.
    server = await startPublicServer({
      max_connections: '100',
      reserved_connections: '30',
      max_notify_queue_pages: '64',
    })
    for (const key of keys) {
      const provisioned = await provisionWarehouse(server.adminUrl, clientOf(key))
      access ??= provisioned
      await using warehouse = openPostgresWarehouse(provisioned)
      await warehouse.catalog.ensureSchema('health')
    }
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  const readers = (limits = readerLimits) => postgresReaders(server.adminUrl, { limits })
  async function newReader(key: string = keys[0]): Promise<Login> {
    const [user, password] = [newReaderLogin(key), newReaderPassword()]
    await readers().define(clientOf(key), { login: user, schemas: ['health'], active: true }, password)
    return { user, password, database: `c_${key}` }
  }
  async function connect(login: Login): Promise<Session> {
    const session = await connected({ host: '127.0.0.1', port: server.port, ...login })
    open.add(session)
    return session
  }
  const closeAll = async () => {
    for (const session of open) await session.end()
    open.clear()
  }
  const isAlive = (session: Client) =>
    session.query('select 1').then(
      () => true,
      () => false,
    )
  const outcome = (attempt: Promise<unknown>) =>
    attempt.then(() => 'done').catch((error: { code: string }) => error.code)
  /** Opens sessions of each login until the server refuses them. Returns their number and the last refusal. */
  async function openAll(logins: readonly Login[]) {
    const before = open.size
    let refused = ''
    const openMore = (login: Login): Promise<string> =>
      connect(login).then(
        () => openMore(login),
        (error: Error) => error.message,
      )
    for (const login of logins) refused = await openMore(login)
    return { count: open.size - before, refused }
  }

  it('leave connections to the services and to other clients, although readers open as many as they can', async () => {
    // As on a server with warehouses that an earlier version provisioned.
    {
      await using superuser = await connected(server.superuserUrl)
      for (const key of keys)
        await superuser.query(
          `revoke pg_use_reserved_connections from c_${key}_load, c_${key}_read granted by warehouse`,
        )
      await prepareWarehouseServer(server.superuserUrl, { admin: 'warehouse' })
    }
    const logins = []
    for (let count = 0; count < readerLimits.readers; count += 1) logins.push(await newReader())
    expect(await openAll(logins)).toMatchObject({ count: 40, refused: expect.stringContaining('too many connections') })
    const others = []
    for (let count = 0; count < 5; count += 1) others.push(await newReader('second'))
    const { count, refused } = await openAll(others)
    expect(count).toBeGreaterThan(15)
    expect(refused).toContain('reserved')
    for (const role of ['load', 'read'] as const)
      expect(await outcome(useAndClose(connectedAs(access, role)))).toBe('done')
    const late = await newReader('third')
    // The client with the most sessions loses some.
    expect(await readers({ ...readerLimits, serverShare: 0.3 }).limitSessions!()).toBe(count + 40 - 30)
    await until(async () => (await outcome(useAndClose(connect(late)))) === 'done')
    const left = await readers().observe()
    const sessionsOf = (key: string) =>
      left.filter(({ login }) => login.startsWith(`c_${key}_`)).reduce((sum, { sessions }) => sum + sessions, 0)
    expect([sessionsOf('attacker'), sessionsOf('second')]).toEqual([15, 15])
    await closeAll()
    for (const { user } of logins) await readers().drop(user)
  })
  const useAndClose = async (opening: Promise<Session>) => {
    await using session = await opening
    await session.query('select 1')
  }

  it('have ten connections for each reader, as long as there are four, and fewer with each further reader', async () => {
    const limitOf = async ({ user }: Login) => {
      await using superuser = await connected(server.superuserUrl)
      const { rows } = await superuser.query('select rolconnlimit as limit from pg_roles where rolname = $1', [user])
      return rows[0].limit
    }
    const logins = [await newReader('third'), await newReader('third'), await newReader('third')]
    expect(await limitOf(logins[0]!)).toBe(10)
    logins.push(await newReader('third'))
    for (const login of logins) expect(await limitOf(login)).toBe(8)
    const { user } = logins[0]!
    await readers().define(clientOf('third'), { login: user, schemas: ['health'], active: false })
    for (const login of logins.slice(1)) expect(await limitOf(login)).toBe(10)
    await readers().define(clientOf('third'), { login: user, schemas: ['health'], active: true })
    for (const login of logins) expect(await limitOf(login)).toBe(8)
    await readers().drop(user)
    for (const login of logins.slice(1)) expect(await limitOf(login)).toBe(10)
  })

  it('end when they exceed a time limit, whatever they set', async () => {
    const reader = await newReader()
    const strict = { ...readerLimits, statementSeconds: 1, idleInTransactionSeconds: 1, graceSeconds: 0 }
    const sessions = []
    for (let count = 0; count < 3; count += 1) {
      const session = await connect(reader)
      await session.query(
        `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set transaction_timeout = 0`,
      )
      sessions.push(session)
    }
    const [idle, busy, calm] = sessions as [Session, Session, Session]
    await idle.query('begin')
    const sleeping = outcome(busy.query('select pg_sleep(60)'))
    await sleep(1_500)
    expect(await readers().limitSessions!()).toBe(0)
    expect(await readers(strict).limitSessions!()).toBe(2)
    expect(await sleeping).toBe('57P01')
    expect([await isAlive(idle), await isAlive(calm)]).toEqual([false, true])
    const second = await connect(reader)
    expect(await readers({ ...readerLimits, clientConnections: 1 }).limitSessions!()).toBe(1)
    await until(async () => !(await isAlive(second)))
    expect(await isAlive(calm)).toBe(true)
    await closeAll()
  })

  it('end when one, those of one client or all together hold too many locks, and others continue', async () => {
    const [attacker, innocent] = [await newReader(), await newReader('second')]
    /** Holds more than 40 locks: of each table and of its indexes. */
    const lock = async (login: Login) => {
      const session = await connect(login)
      await session.query('begin')
      for (const table of ['class', 'attribute', 'type', 'proc', 'index', 'operator', 'cast', 'constraint', 'depend'])
        await session.query(`select from pg_${table} limit 1`)
      await session.query('select * from pg_roles, pg_stats, pg_views, pg_indexes, pg_matviews limit 0')
      return session
    }
    const calm = await connect(innocent)
    await calm.query('begin; select from pg_class limit 1')
    for (const limit of [{ locks: 30 }, { clientLocks: 60 }, { lockTableShare: 60 / (64 * 100) }]) {
      const held = [await lock(attacker), await lock(attacker)]
      expect(await readers().limitSessions!()).toBe(0)
      const ended = await readers({ ...readerLimits, ...limit }).limitSessions!()
      await until(async () => (await Promise.all(held.map(isAlive))).filter((alive) => !alive).length === ended)
      expect([limit, ended]).toEqual([limit, 'locks' in limit ? 2 : 1])
      for (const session of held) await session.end()
    }
    expect(await isAlive(calm)).toBe(true)
    await closeAll()
  })

  it('end when they keep the queue of notifications full, in which all databases of the server have their own', async () => {
    const attacker = await newReader()
    const [listener, sender] = [await connect(attacker), await connect(attacker)]
    await listener.query(`begin read only; listen everything; commit; begin read only; select 'hidden'`)
    const flood = `do $$ begin for i in 1..100 loop execute format('notify everything, %L', i || repeat('x', 7000)); end loop; end $$`
    expect(await outcome(sender.query(flood))).toBe('54000')
    const innocent = await connect(await newReader('second'))
    await innocent.query(`begin; select 'later than the attacker'`)
    await using service = await connected(server.adminUrl)
    expect(await outcome(service.query('notify own'))).toBe('54000')
    expect(await readers().limitSessions!()).toBe(1)
    expect(await outcome(service.query('notify own'))).toBe('done')
    expect([await isAlive(listener), await isAlive(innocent)]).toEqual([false, true])
    await closeAll()
  })

  it('have the lowest priority on this machine', async () => {
    const session = await connect(await newReader())
    const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
    expect(getPriority(rows[0]!.pid)).toBe(0)
    expect(await readers().limitSessions!()).toBe(0)
    expect(getPriority(rows[0]!.pid)).toBe(19)
    await closeAll()
  })
})
