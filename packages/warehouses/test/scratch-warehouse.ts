import { afterAll, beforeAll } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { WarehouseAccess } from '../src/postgres/postgres-connections.ts'
import { openPostgresWarehouse } from '../src/postgres/postgres-warehouse.ts'
import { prepareWarehouseServer } from '../src/postgres/server/prepare-server.ts'
import { provisionWarehouse } from '../src/postgres/server/provision-warehouse.ts'
import type { Warehouse } from '../src/warehouse.ts'

/** The tests' server, as its superuser. */
export function superuserUrl(database?: string): string {
  const url = process.env['TEST_DATABASE_URL']
  if (!url)
    throw new Error(
      'These tests need PostgreSQL: `npm test` starts one, or set TEST_DATABASE_URL to a superuser’s URL.',
    )
  const changed = new URL(url)
  if (database) changed.pathname = `/${database}`
  return changed.href
}

export function word(prefix = 'k'): string {
  return prefix + randomBytes(6).toString('hex')
}

export async function connected(settings: ConstructorParameters<typeof Client>[0]): Promise<Client & AsyncDisposable> {
  const client = new Client(settings)
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** As one of a client's own roles, the way an attacker with its password would come. */
export function connectedAs(access: WarehouseAccess, role: 'load' | 'read', database = access.database) {
  const { host, port } = access
  return connected({ host, port, database, ...access[role] })
}

/** An administrator with CREATEDB and CREATEROLE only, as in production. */
export interface ScratchServer extends AsyncDisposable {
  adminUrl: string
  [Symbol.asyncDispose](): Promise<void>
  provision(key?: string, passwords?: { loadPassword: string; readPassword: string }): Promise<WarehouseAccess>
  /**
   * Drops the warehouses that an ended service created on this server. Terminates the remaining sessions of the
   * administrator.
   */
  remove(keys: Iterable<string>): Promise<void>
}

export async function scratchServer(): Promise<ScratchServer> {
  const admin = word('admin_')
  const keys = new Set<string>()
  await using superuser = await connected(superuserUrl())
  await superuser.query(`create role ${admin} login createdb createrole password '${admin}'`)
  await prepareWarehouseServer(superuserUrl(), { admin })
  // In production, the administrator's database has the administrator's name.
  await superuser.query(`grant execute on function pg_reload_conf() to ${admin}`)
  const url = new URL(superuserUrl())
  url.username = admin
  url.password = admin
  async function remove(keys: Iterable<string>): Promise<void> {
    await using client = await connected(superuserUrl())
    // A process that is gone leaves a session that may still be making a database for one of the roles.
    await client.query('select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = $1', [admin])
    for (const key of keys) {
      await client.query(`drop database if exists c_${key} with (force)`)
      const { rows } = await client.query('select rolname from pg_roles where starts_with(rolname, $1)', [`c_${key}_`])
      for (const { rolname } of rows) await client.query(`drop role ${rolname}`)
    }
  }
  return {
    adminUrl: url.href,
    provision(key = word(), passwords = { loadPassword: word('load-'), readPassword: word('read-') }) {
      keys.add(key)
      return provisionWarehouse(url.href, { key, ...passwords })
    },
    remove,
    async [Symbol.asyncDispose]() {
      await remove(keys)
      await using client = await connected(superuserUrl())
      // Shares rows of the catalogue with other test files' administrators.
      await client.query(`select pg_advisory_lock(hashtext('sluice warehouse template'))`)
      await client.query(`drop owned by ${admin}`)
      await client.query(`drop role ${admin}`)
    },
  }
}

export interface ScratchWarehouse extends AsyncDisposable {
  access: WarehouseAccess
  warehouse: Warehouse
  /** Looks into the client's database, past its fences. */
  superuser: Client
  [Symbol.asyncDispose](): Promise<void>
}

export async function scratchWarehouse(): Promise<ScratchWarehouse> {
  const server = await scratchServer()
  const access = await server.provision()
  // Tests of readers that never end have no two hours.
  const warehouse = openPostgresWarehouse(access, { waitMs: 8_000 })
  const superuser = await connected(superuserUrl(access.database))
  return {
    access,
    warehouse,
    superuser,
    async [Symbol.asyncDispose]() {
      await warehouse[Symbol.asyncDispose]()
      await superuser.end()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A scratch warehouse with the schema `health`, made before the tests of a `describe` and gone after them. */
export function scratchWarehouseForAll(): Omit<ScratchWarehouse, symbol> {
  let scratch: ScratchWarehouse
  beforeAll(async () => {
    scratch = await scratchWarehouse()
    await scratch.warehouse.catalog.ensureSchema('health')
  })
  afterAll(() => scratch?.[Symbol.asyncDispose]())
  return {
    get access() {
      return scratch.access
    },
    get warehouse() {
      return scratch.warehouse
    },
    get superuser() {
      return scratch.superuser
    },
  }
}
