import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { OperationSignature, Role } from '@sluice/contracts'
import { connect } from '@sluice/database'
import { anonymousCaller, type Caller } from '@sluice/http-server'
import { testDatabase } from '@sluice/testing'
import { type Kysely, type KyselyPlugin, sql } from 'kysely'
import { findPermittedActions, visibleTo } from '../src/index.ts'

let database: Awaited<ReturnType<typeof testDatabase>>
let db: Kysely<any>
const client = randomUUID()
beforeAll(async () => {
  database = await testDatabase()
  db = connect(database.url, { name: 'test' }).db
  await sql`create table things (uid uuid primary key, client uuid, created_by uuid, public_access text,
    user_access jsonb, user_group_access jsonb)`.execute(db)
})
afterAll(async () => {
  await db?.destroy()
  await database?.drop()
})

const guarded = (role: Role, effect: 'read' | 'write'): Pick<OperationSignature, 'guard' | 'effect'> => ({
  guard: [role],
  effect,
})
const kind = {
  table: 'things',
  scope: visibleTo,
  signatures: {
    read: guarded('ROLE_SEE_VIEW', 'read'),
    update: guarded('ROLE_MANAGE_VIEW', 'write'),
    delete: guarded('ROLE_MANAGE_VIEW', 'write'),
    run: guarded('ROLE_SEE_VIEW', 'read'),
  },
}
const callerWith = (...roles: Role[]): Caller => ({
  ...anonymousCaller,
  kind: 'session',
  uid: randomUUID(),
  client,
  roles,
})

async function insertThings(count: number, publicAccess: string): Promise<string[]> {
  const uids = Array.from({ length: count }, () => randomUUID())
  await sql`insert into things select u, ${client}, null, ${publicAccess}, '[]', '[]' from unnest(${uids}::uuid[]) u`.execute(
    db,
  )
  return uids
}

it('the actions of a page need one statement, whatever its size', async () => {
  const uids = await insertThings(500, 'READ_WRITE')
  let statements = 0
  const count: KyselyPlugin = {
    transformQuery: ({ node }) => {
      statements += 1
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const context = { caller: callerWith('ROLE_MANAGE_VIEW'), db: db.withPlugin(count) }
  const actionsOf = await findPermittedActions(kind, uids, context)
  expect(new Set(uids.map((uid) => actionsOf(uid).join()))).toEqual(new Set(['read,write,run,delete']))
  expect(statements).toBe(1)
})

it('an action needs the role of its operation, and write access if the operation writes', async () => {
  const things = await Promise.all(['NONE', 'READ', 'READ_WRITE'].map((access) => insertThings(1, access)))
  const actionsFor = async (...roles: Role[]) => {
    const uids = [...things.flat(), randomUUID()]
    const actionsOf = await findPermittedActions(kind, uids, { caller: callerWith(...roles), db })
    return uids.map((uid) => actionsOf(uid))
  }
  expect(await actionsFor()).toEqual([[], [], [], []])
  expect(await actionsFor('ROLE_SEE_VIEW')).toEqual([[], ['read', 'run'], ['read', 'run'], []])
  expect(await actionsFor('ROLE_MANAGE_VIEW')).toEqual([[], ['read', 'run'], ['read', 'write', 'run', 'delete'], []])
})

it('a kind whose records the caller may not write has only actions that read', async () => {
  const [uid] = await insertThings(1, 'READ_WRITE')
  const context = { caller: callerWith('ROLE_MANAGE_VIEW'), db }
  const actionsOf = await findPermittedActions({ ...kind, mayWrite: async () => false }, [uid!], context)
  expect(actionsOf(uid!)).toEqual(['read', 'run'])
})
