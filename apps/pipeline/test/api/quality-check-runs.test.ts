import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { CheckResult, GroupResult } from '@sluice/contracts'
import { columns, loadAll } from '@sluice/warehouses/testing/row-fixtures'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'

let service: Service
let owner: Asking
let other: Asking
beforeAll(async () => {
  service = await startService()
  const { identity, stack } = service
  const client = (await identity.client()).id
  const roles = (['CHECK', 'CHECK_GROUP'] as const).map((noun) => `ROLE_MANAGE_DATA_QUALITY_${noun}` as const)
  owner = service.as(await identity.person(client, [...roles, 'ROLE_MANAGE_VARIABLE']))
  other = service.as(await identity.person(client, roles))
  const warehouse = await stack.warehouses.open(client)
  const tables: [schema: string, table: string, columns: Record<string, string>, row: (string | number)[]][] = [
    ['archive', 'cases', { id: 'INTEGER' }, [1]],
    ['health', 'cases', { id: 'INTEGER', cases: 'INTEGER', country: 'TEXT' }, [2, 20, 'canary-cell']],
    ['health', 'visits', { id: 'INTEGER', cases: 'INTEGER' }, [3, 30]],
    ['archive', 'places', { id: 'INTEGER' }, [4]],
    ['health', 'places', { id: 'INTEGER' }, [5]],
  ]
  for (const [schema, table, types, row] of tables) {
    await warehouse.catalog.ensureSchema(schema)
    await loadAll(warehouse, { schema, table, columns: columns(types) }, [row])
  }
})
afterAll(() => service?.stop())

const check = async (query: string) =>
  (await owner.post('/data-quality-checks').send(checkBody({ query })).expect(201)).body as { id: string; name: string }
const group = async (checks: { id: string }[], more: object = {}) => {
  const body = groupBody({ dataQualityChecks: checks.map(({ id }) => ({ id })), ...more })
  return (await owner.post('/data-quality-check-groups').send(body).expect(201)).body.id as string
}
const run = async (query: string) => {
  const { id } = await check(query)
  return (await owner.post(`/data-quality-checks/${id}/run`).send({}).expect(200)).body as CheckResult
}
const runGroup = async (id: string, by = owner) =>
  (await by.post(`/data-quality-check-groups/${id}/run`).send({}).expect(200)).body as GroupResult

const sentence = (table: string) =>
  `Several schemas have a table "${table}": "archive", "health". Write the schema before the name, such as archive.${table}.`

describe('a table name without a schema', () => {
  it.each([
    ['cases', 'select id from cases'],
    ['cases', 'select country from cases'],
    ['cases', 'select * from health.visits where id in (select id from "cases")'],
    ['places', 'select p.id from health.cases c join places p on p.id = c.id'],
    ['places', 'with first as (table places) select * from first'],
    ['cases', 'select * from archive.cases union all select id from cases'],
  ])('is refused if several schemas have the table, and the message lists them: %s in %s', async (table, query) => {
    const { status, message } = await run(query)
    // Where only one of them has the columns that are named, that would be a guess all the same.
    expect([status, message]).toEqual(['ERROR', sentence(table)])
  })

  it('is accepted if it is a column, an alias or a CTE, or if only one schema has the table', async () => {
    const rows = async (query: string) => (await run(query)).data?.rows
    expect(await rows('select cases from health.cases where cases > 5')).toEqual([[20]])
    expect(await rows('select cases.id from health.visits as cases')).toEqual([[3]])
    expect(await rows('with cases as (select 7 as id) select id from cases')).toEqual([[7]])
    expect(await rows('select a.id, h.id from archive.cases a, health.cases h')).toEqual([[1, 2]])
    expect(await rows('select id from visits where cases = 30')).toEqual([[3]])
    expect(await rows("select 'cases' as places")).toEqual([['cases']])
  })

  it('is not mentioned if the query fails for another reason', async () => {
    expect((await run('select nonsense from health.cases')).message).toMatch(/nonsense/)
    expect((await run('select from from cases')).message).toMatch(/syntax error/)
    expect((await run('delete from health.cases')).status).toBe('ERROR')
  })

  it('is refused in the run of a check group too', async () => {
    const id = await group([await check('select id from cases'), await check('select id from visits')])
    const { results } = await runGroup(id)
    expect(results.map(({ status, message }) => [status, message])).toEqual([
      ['ERROR', sentence('cases')],
      ['FAILED', '1 row violates the check.'],
    ])
  })
})

describe('the error message of the database for a check query', () => {
  it('is shown to users who may read the check, not to others who can see the run', async () => {
    const secret = await check('select country::integer from health.cases')
    const slow = await check('select ${unknown_here}')
    const id = await group([secret, slow], { access: { publicAccess: 'READ_WRITE' } })
    const own = await runGroup(id)
    expect(own.results[0]!.message).toContain('canary-cell')
    const theirs = await runGroup(id, other)
    expect(theirs.message).toBe(
      `2 of 2 checks are not OK. “${secret.name}”: The check could not be run. Users with read access to the check can see the reason. “${slow.name}”: The variable \${unknown_here} does not exist or has no value. Create it, correct its name, or pass its value in \`variables\` of the run.`,
    )
    const runs = await other.get(`/data-quality-check-groups/${id}/runs`).expect(200)
    expect(runs.body).toHaveLength(2)
    const path = `/data-quality-check-groups/${id}/runs/${theirs.taskId}/quality-results`
    const kept = await other.get(path).expect(200)
    expect(JSON.stringify([theirs, runs.body, kept.body])).not.toContain('canary-cell')
    const { db } = service.stack
    const messages = await db.selectFrom('runs').select(['uid', 'message']).execute()
    const alerts = await db.selectFrom('alerts').select('content').execute()
    for (const { taskId: uid } of [own, theirs]) {
      const stored = messages.filter((each) => each.uid === uid)
      expect(stored).toEqual([{ uid, message: theirs.message }])
      expect(alerts).toContainEqual({ content: expect.objectContaining({ run: uid, message: theirs.message }) })
    }
    expect(JSON.stringify([messages, alerts])).not.toContain('canary-cell')
    expect((await owner.get(path).expect(200)).body[0].message).toContain('canary-cell')
  })
})

describe('variable values passed to a run', () => {
  const known = `known_${randomUUID()}`
  beforeAll(() => owner.post('/variables').send({ name: known, secured: false, value: '1' }).expect(201))
  const given = (...names: string[]) => ({ variables: names.map((name) => ({ name, value: '5' })) })

  it('are accepted if the query uses the variable or it is stored; others are refused by name', async () => {
    const { id } = await check('select 1 where ${least} > 4 -- ${commented}')
    const ask = (...names: string[]) => owner.post(`/data-quality-checks/${id}/run`).send(given(...names))
    expect((await ask('least', known).expect(200)).body).toMatchObject({ status: 'FAILED', violations: 1 })
    const { body } = await ask('least', 'leest', 'commented', 'least').expect(422)
    expect(body.code).toBe('refused')
    const unknown = (name: string) =>
      `The check does not use \${${name}}, and no variable of this name exists. Correct the name, or leave it out.`
    expect(body.errors).toEqual([
      { pointer: '/variables/1/name', detail: unknown('leest') },
      { pointer: '/variables/2/name', detail: unknown('commented') },
      { pointer: '/variables/3/name', detail: '${least} has two values. Send only one.' },
    ])
  })

  it('are not reported as unused if the query has the variable in quotes with other text', async () => {
    const { id } = await check("select 1 where 'a' like '%${F}%' or ${missing} = 1")
    const { body } = await owner.post(`/data-quality-checks/${id}/run`).send(given('F')).expect(200)
    expect(body).toMatchObject({
      status: 'ERROR',
      message:
        "The variable ${F} is in quotes with other text. Write '${F}' for the value alone, and join it with other text by || or concat().",
    })
  })

  it('are checked in the same way for a group, both for run and for start', async () => {
    const id = await group([await check('select ${a}'), await check('select ${b}')])
    for (const verb of ['run', 'start']) {
      const ask = (...names: string[]) => owner.post(`/data-quality-check-groups/${id}/${verb}`).send(given(...names))
      const { body } = await ask('a', 'c').expect(422)
      expect(body.detail).toBe(
        'No check in the group uses ${c}, and no variable of this name exists. Correct the name, or leave it out.',
      )
      await ask('a', 'b', known).expect(verb === 'run' ? 200 : 202)
    }
  })
})
