import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { clientWarehouses } from '../../src/warehouses/client-warehouses.ts'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { startStack, type Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const redaction = new Redaction()
const logger = createLogger({ name: 'test', level: 'silent', redaction })

/** As another process of the service has them. */
function another(changed: Partial<Parameters<typeof clientWarehouses>[0]> = {}) {
  const keys = keyRing(stack.environment['SECRET_KEYS']!)
  const adminUrl = stack.environment['WAREHOUSE_DATABASE_URL']!
  return clientWarehouses({ db: stack.db, keyRing: keys, adminUrl, logger, redaction, ...changed })
}

const rowOf = (client: string) =>
  stack.db.selectFrom('warehouses').selectAll().where('client', '=', client).executeTakeFirstOrThrow()

async function rolesOf(key: string) {
  await using superuser = await connected(superuserUrl())
  const { rows } = await superuser.query(
    'select rolname, rolpassword from pg_authid where rolname like $1 order by rolname',
    [`c\\_${key}\\_%`],
  )
  return rows
}

describe('warehouses of organisations', () => {
  it('are created once, on first use, even when two processes open them concurrently', async () => {
    const client = randomUUID()
    await using one = another()
    await using other = another()
    const [first, second] = await Promise.all([one.open(client), other.open(client)])
    await first.catalog.ensureSchema('health')
    await second.catalog.ensureSchema('health')
    expect(await one.open(client)).toBe(first)
    expect(await rowOf(client)).toMatchObject({
      key: expect.stringMatching(/^[a-z0-9]{1,40}$/),
      provisioned_at: expect.any(Date),
    })
  })

  it('store their passwords encrypted, bound to the organisation and role, and redact them in logs', async () => {
    const client = randomUUID()
    const redaction = new Redaction()
    await using warehouses = another({ redaction })
    await warehouses.open(client)
    const { load_password } = await rowOf(client)
    const ring = keyRing(stack.environment['SECRET_KEYS']!)
    const password = ring.open(load_password, `warehouses.load_password:${client}`)
    expect(password).toHaveLength(43)
    expect(redaction.apply(`x ${password} y`)).toBe('x [redacted] y')
    expect(() => ring.open(load_password, `warehouses.load_password:${randomUUID()}`)).toThrow()
    expect(() => ring.open(load_password, `warehouses.read_password:${client}`)).toThrow()
  })

  it('are recreated if their database and roles are missing on the server', async () => {
    const client = randomUUID()
    await another().open(client)
    const { key } = await rowOf(client)
    await using superuser = await connected(superuserUrl())
    await superuser.query(`drop database c_${key} with (force)`)
    await superuser.query(`drop role c_${key}_load, c_${key}_read, c_${key}_owner`)
    await using warehouses = another()
    await (await warehouses.open(client)).catalog.ensureSchema('health')
  })

  it('are reported as unavailable while their server is unreachable, and can be opened afterwards', async () => {
    const client = randomUUID()
    await using away = another({ adminUrl: 'postgres://nobody:nothing@127.0.0.1:1/none' })
    for (let tries = 0; tries < 2; tries += 1)
      await expect(away.open(client)).rejects.toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE', retryable: true })
    await expect(away.check()).rejects.toThrow()
    await using back = another()
    await back.check()
    await (await back.open(client)).catalog.ensureSchema('health')
  })

  it('are found only after they were created, and find() does not create them', async () => {
    const client = randomUUID()
    await using warehouses = another()
    expect(await warehouses.find(client)).toBeUndefined()
    expect(await stack.db.selectFrom('warehouses').where('client', '=', client).execute()).toEqual([])
    const opened = await warehouses.open(client)
    expect(await warehouses.find(client)).toBe(opened)
    await using other = another({ adminUrl: 'postgres://nobody:nothing@127.0.0.1:1/none' })
    expect(await other.find(client)).toBeDefined()
  })

  it('are not recreated when another process opens them, and keep their passwords', async () => {
    const client = randomUUID()
    await another().open(client)
    const { key } = await rowOf(client)
    const made = await rolesOf(key)
    await using warehouses = another()
    await warehouses.open(client)
    expect(await rolesOf(key)).toEqual(made)
  })

  it('are repaired if an open one was dropped, has another password or has an older version', async () => {
    const client = randomUUID()
    await using warehouses = another()
    const warehouse = await warehouses.open(client)
    const { key } = await rowOf(client)
    await using superuser = await connected(superuserUrl())
    await superuser.query(`alter role c_${key}_load password 'another'`)
    await superuser.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'c_${key}'`)
    await until(() => warehouse.upkeep.countConnections() === 0)
    expect(await warehouses.open(client)).toBe(warehouse)
    await warehouse.catalog.ensureSchema('health')
    await using inside = await stack.inside(client)
    await inside.query(`comment on schema sluice is '1'; drop function sluice.prune_ledger`)
    await expect(warehouse.upkeep.check()).rejects.toMatchObject({ code: 'WAREHOUSE_OUTDATED' })
    await warehouses.open(client)
    expect(await warehouse.upkeep.pruneLedger(30)).toBe(0)
    await inside.end()
    await superuser.query(`drop database c_${key} with (force)`)
    await (await warehouses.open(client)).catalog.ensureSchema('health')
  })

  it('reset session settings of the load role that SQL of a load has changed', async () => {
    const client = randomUUID()
    await using warehouses = another()
    await warehouses.open(client)
    const { key } = await rowOf(client)
    await using superuser = await connected(superuserUrl())
    await superuser.query(`alter role c_${key}_load set statement_timeout = '1ms'`)
    await superuser.query(`alter role c_${key}_load in database c_${key} set transaction_timeout = '1ms'`)
    await superuser.query(`alter role c_${key}_load set default_transaction_read_only = on`)
    await using fresh = another()
    await (await fresh.open(client)).catalog.ensureSchema('health')
    const { rows } = await superuser.query(
      `select d.setconfig::text as set from pg_db_role_setting d where d.setrole = 'c_${key}_load'::regrole`,
    )
    expect(rows).toEqual([{ set: expect.not.stringMatching(/1ms|transaction_timeout=|read_only/) }])
  })

  it('cannot be opened with a key ring that does not hold their key', async () => {
    const client = randomUUID()
    await another().open(client)
    await using warehouses = another({ keyRing: keyRing(`other:${randomBytes(32).toString('base64')}`) })
    await expect(warehouses.open(client)).rejects.toThrow(/Add it to SECRET_KEYS/)
  })
})
