import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createContractChecker, CheckResult, GroupResult } from '@sluice/contracts'
import { loadAll, columns } from '@sluice/warehouses/testing/row-fixtures'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'

const everything = [
  'ROLE_MANAGE_DATA_QUALITY_CHECK',
  'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
  'ROLE_MANAGE_VARIABLE',
] as const

let service: Service
let owner: Asking
let other: Asking
let client: string
beforeAll(async () => {
  service = await startService()
  const { identity, stack } = service
  client = (await identity.client()).id
  owner = service.as(await identity.person(client, [...everything]))
  other = service.as(await identity.person(client, [...everything]))
  const warehouse = await stack.warehouses.open(client)
  await warehouse.catalog.ensureSchema('health')
  const rows = Array.from({ length: 1_500 }, (_, index): [number, string] => [index, index % 2 ? 'NO' : 'SE'])
  await loadAll(warehouse, { table: 'cases', columns: columns({ id: 'INTEGER', country: 'TEXT' }) }, rows)
})
afterAll(() => service?.stop())

const made = async (path: string, body: object, by = owner) =>
  (await by.post(`/${path}`).send(body).expect(201)).body as { id: string; name: string }
const check = (query: string, more: object = {}) => made('data-quality-checks', checkBody({ query, ...more }))
const group = (checks: { id: string }[], more: object = {}) =>
  made('data-quality-check-groups', groupBody({ dataQualityChecks: checks.map(({ id }) => ({ id })), ...more }))
const run = async (id: string, body: object = {}) =>
  (await owner.post(`/data-quality-checks/${id}/run`).send(body).expect(200)).body as CheckResult
const runGroup = async (id: string, body: object = {}) => {
  const answer = await owner.post(`/data-quality-check-groups/${id}/run`).send(body).expect(200)
  expect(createContractChecker(GroupResult)(answer.body)).toEqual({ value: answer.body })
  return answer.body as GroupResult
}

describe('a data quality check', () => {
  it('has translated names and labels, and accepts the body of GET in PUT', async () => {
    const labels = [{ key: 'severity', value: 'high' }]
    const { id: bare } = await check('select 1', { labels: [{ key: 'seen' }] })
    expect((await owner.get(`/data-quality-checks/${bare}`).expect(200)).body.labels).toEqual([
      { key: 'seen', value: '' },
    ])
    const translations = [
      { locale: 'fr', property: 'shortName', value: 'Dates futures' },
      { locale: 'fr', property: 'labels.severity', value: 'élevée' },
      { locale: 'no', property: 'SHORT_NAME', value: 'Datoer' },
    ]
    const { id } = await check('select 1', { shortName: 'Future dates', labels, translations, description: 'None.' })
    const french = await owner.get(`/data-quality-checks/${id}`).set('accept-language', 'fr').expect(200)
    expect(french.headers['content-language']).toBe('fr')
    expect(french.body).toMatchObject({
      shortName: 'Future dates',
      displayShortName: 'Dates futures',
      labels,
      displayLabels: [{ key: 'severity', value: 'élevée' }],
      displayDescription: 'None.',
    })
    const norwegian = await owner.get(`/data-quality-checks/${id}`).set('accept-language', 'no').expect(200)
    expect(norwegian.body.displayShortName).toBe('Datoer')
    const back = await owner.put(`/data-quality-checks/${id}`).send(french.body).expect(200)
    expect({ ...back.body, lastUpdated: '' }).toEqual({
      ...norwegian.body,
      displayShortName: 'Future dates',
      lastUpdated: '',
    })
  })

  it('explains each missing field of a translation, and refuses a second or an empty value for a text', async () => {
    const post = async (translations: object[]) =>
      (await owner.post('/data-quality-checks').send(checkBody({ translations })).expect(400)).body.errors
    const details = (await post([{}])).map(({ detail }: { detail: string }) => detail)
    for (const why of ['the language of the translation', 'the name of the translated property', 'the translated text'])
      expect(details.join()).toContain(why)
    const one = { locale: 'fr', property: 'shortName', value: 'Dates' }
    expect((await post([one, { ...one, value: 'Autres' }]))[0].detail).toContain('the same locale and property')
    expect((await post([{ ...one, value: '' }]))[0].pointer).toBe('/translations/0/value')
  })

  it('has a unique code within its organisation, unless the code is empty', async () => {
    const { id } = await check('select 1', { code: 'TWICE' })
    const { body } = await owner
      .post('/data-quality-checks')
      .send(checkBody({ code: 'TWICE' }))
      .expect(409)
    expect(body.errors).toEqual([{ pointer: '/code', detail: 'Another data quality check has this code.' }])
    for (const _one of [1, 2]) await check('select 1', { code: '' })
    const found = await owner
      .post('/data-quality-checks/search')
      .send({ filter: ['code:eq:TWICE'], paging: {} })
      .expect(200)
    expect(found.body.map((one: { id: string }) => one.id)).toEqual([id])
  })

  it('returns the violating rows (1,000 at most), their total number, and the columns', async () => {
    const { id } = await check('select id, country from cases where id < 1200 order by id;')
    const result = await run(id)
    expect(createContractChecker(CheckResult)(result)).toEqual({ value: result })
    expect(result).toMatchObject({ dataQualityCheckId: id, status: 'FAILED', violations: 1_200 })
    expect(result.message).toBe('1,200 rows violate the check.')
    expect(result.data).toMatchObject({ height: 1_000, width: 2, rowCount: 1_200, columnCount: 2 })
    expect(result.data!.columns.map(({ name, dataType }) => [name, dataType])).toEqual([
      ['id', 'INTEGER'],
      ['country', 'TEXT'],
    ])
    expect(result.data!.rows[1]).toEqual([1, 'NO'])
  })

  it('is OK without rows, and ERROR with a message if the query cannot be run', async () => {
    expect(await run((await check('select * from cases where id < 0')).id)).toMatchObject({
      status: 'OK',
      violations: 0,
      message: 'No row violates the check.',
      data: { height: 0, width: 2 },
    })
    const wrong = await run((await check('select\n nonsense from cases')).id)
    expect(wrong).toMatchObject({ status: 'ERROR', message: expect.stringMatching(/line 2, column 2.*nonsense/) })
    expect(wrong.data).toBeUndefined()
    for (const query of ['delete from cases', 'select 1; drop table cases', 'commit', 'copy cases to stdout'])
      expect(await run((await check(query)).id)).toMatchObject({ status: 'ERROR' })
    expect(await run((await check('select count(*) from cases having count(*) <> 1500')).id)).toMatchObject({
      status: 'OK',
    })
  })

  it('uses stored variables and values of the run, always as values and not as SQL', async () => {
    await made('variables', { name: 'country', secured: false, value: 'NO' })
    const { id } = await check('select id from cases where country = ${country} limit 3')
    expect((await run(id)).data!.rows).toEqual([[1], [3], [5]])
    const given = (value: string) => run(id, { variables: [{ name: 'country', secured: false, value }] })
    expect((await given('SE')).data!.rows).toEqual([[0], [2], [4]])
    expect(await given("NO' or true --")).toMatchObject({ status: 'OK' })
    const unknown = await run((await check('select ${nobody_knows}')).id)
    expect(unknown).toMatchObject({ status: 'ERROR', message: expect.stringContaining('${nobody_knows}') })
  })

  it('does not expose the value of a secured variable in results, database rows or logs', async () => {
    const canary = 'canary-5f0b4c7e9b44'
    await made('variables', { name: 'token', secured: true, value: canary })
    const queries = [
      'select ${token} as shown',
      "select 'before ' || ${token} || ' after', json_build_object('in', ${token}::text) as packed",
      'select ${token}::integer',
      'select upper(${token}), array[${token}::text]',
    ]
    const results = await Promise.all(queries.map(async (query) => run((await check(query)).id)))
    expect(results.map(({ status }) => status)).toEqual(['FAILED', 'FAILED', 'ERROR', 'FAILED'])
    expect(results[0]!.data!.rows).toEqual([['[redacted]']])
    const other = 'canary-of-the-run-77'
    const own = await check('select ${token} as shown, ${word} as word')
    const { taskId } = await runGroup((await group([own])).id, {
      variables: [
        { name: 'token', secured: false, value: other },
        { name: 'word', value: 'seen' },
      ],
    }).then((result) => {
      expect(result.variables).toEqual([
        { name: 'token', secured: true },
        { name: 'word', secured: false, value: 'seen' },
      ])
      expect(result.results[0]!.data!.rows).toEqual([['[redacted]', 'seen']])
      results.push(...result.results)
      return result
    })
    expect(taskId).toBeDefined()
    const { db } = service.stack
    const kept = await Promise.all(
      (['runs', 'data_quality_results', 'audit'] as const).map((table) => db.selectFrom(table).selectAll().execute()),
    )
    const everywhere = JSON.stringify([results, kept, service.log()]).toLowerCase()
    for (const secret of [canary, other]) expect(everywhere).not.toContain(secret)
  })
})

describe('a data quality check group', () => {
  it('runs its checks in order, is OK only if all checks are OK, and stores the results in its history', async () => {
    const fine = await check('select 1 where false', { name: `Fine ${Date.now()}` })
    const bad = await check('select * from cases', { name: `Bad ${Date.now()}` })
    const broken = await check('select nonsense')
    const { id } = await group([bad, fine, broken])
    const result = await runGroup(id)
    expect(result.results.map(({ status }) => status)).toEqual(['FAILED', 'OK', 'ERROR'])
    expect(result).toMatchObject({ status: 'ERROR' })
    expect(result.message).toMatch(/^2 of 3 checks are not OK\. “Bad \d+”: 1,500 rows violate the check\./)
    const runs = await owner.get(`/data-quality-check-groups/${id}/runs`).expect(200)
    expect(runs.body).toMatchObject([{ taskId: result.taskId, status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED' }])
    const kept = await owner.get(`/data-quality-check-groups/${id}/runs/${result.taskId}/quality-results`).expect(200)
    expect(kept.body).toEqual(result.results)
    expect(kept.headers['x-total-count']).toBe('3')
    expect(kept.body[0].data).toMatchObject({ height: 100, rowCount: 1_500 })
    const good = await group([fine])
    expect(await runGroup(good.id)).toMatchObject({ status: 'OK', message: 'The check is OK.' })
    expect((await owner.get(`/data-quality-check-groups/${good.id}/runs`)).body).toMatchObject([{ status: 'OK' }])
  })

  it('shows only the name and the number of violations of a check that the user may not read', async () => {
    const closed = await check('select 4711 as secret_number')
    const open = await check('select 2', { access: { publicAccess: 'READ' } })
    const { id } = await group([closed, open], { access: { publicAccess: 'READ_WRITE' } })
    const seen = await other.get(`/data-quality-check-groups/${id}`).expect(200)
    expect(seen.body.dataQualityChecks).toEqual([
      { id: closed.id, name: closed.name },
      expect.objectContaining({ id: open.id, query: 'select 2' }),
    ])
    const { body } = await other.post(`/data-quality-check-groups/${id}/run`).send({}).expect(200)
    expect(body.results).toMatchObject([{ status: 'FAILED', violations: 1 }, { data: { rows: [[2]] } }])
    expect(JSON.stringify(body)).not.toMatch(/secret_number|4711/)
    const kept = await other.get(`/data-quality-check-groups/${id}/runs/${body.taskId}/quality-results`).expect(200)
    expect(kept.body).toEqual(body.results)
    // They may keep it in the group, and not bring it into another one.
    await other.put(`/data-quality-check-groups/${id}`).send(seen.body).expect(200)
    const refused = await other
      .post('/data-quality-check-groups')
      .send(groupBody({ dataQualityChecks: [closed] }))
      .expect(422)
    expect(refused.body.errors).toMatchObject([{ pointer: '/dataQualityChecks/0/id' }])
    const twice = groupBody({ dataQualityChecks: [{ id: open.id, name: 'a' }, { id: open.id }] })
    const again = await owner.post('/data-quality-check-groups').send(twice).expect(422)
    expect(again.body.errors).toMatchObject([{ pointer: '/dataQualityChecks/1/id' }])
  })

  it('prevents the deletion of its checks, and the error names the group', async () => {
    const one = await check('select 1')
    const { id, name } = await group([one])
    const { body } = await owner.delete(`/data-quality-checks/${one.id}`).expect(409)
    expect(body.detail).toBe(
      `This data quality check is used by the data quality check groups "${name}". Change or delete these objects first.`,
    )
    const read = await owner.get(`/data-quality-check-groups/${id}`).expect(200)
    const emptied = await owner
      .put(`/data-quality-check-groups/${id}`)
      .send({ ...read.body, dataQualityChecks: [] })
      .expect(200)
    expect(emptied.body.dataQualityChecks).toEqual([])
    await owner.delete(`/data-quality-checks/${one.id}`).expect(204)
    await owner.delete(`/data-quality-check-groups/${id}`).expect(204)
  })

  it('is queued once, and keeps its variable values encrypted until the run has ended', async () => {
    const { id } = await group([await check('select ${token} || ${word}')])
    const start = (variables: object[] = []) => owner.post(`/data-quality-check-groups/${id}/start`).send({ variables })
    const { body } = await start([{ name: 'word', secured: true, value: 'canary-in-the-queue' }]).expect(202)
    expect(body).toMatchObject({ status: 'OK', httpStatusCode: 202, data: { taskId: expect.any(String) } })
    expect((await start().expect(202)).body.data).toEqual(body.data)
    expect((await start([{ name: 'word', value: 'x' }]).expect(409)).body.errors).toMatchObject([
      { pointer: '/variables' },
    ])
    const row = () =>
      service.stack.db.selectFrom('runs').selectAll().where('uid', '=', body.data.taskId).executeTakeFirstOrThrow()
    expect((await row()).sealed_input).toMatch(/^test\./)
    expect(JSON.stringify(await row())).not.toContain('canary')
    await owner.delete(`/data-quality-check-groups/${id}`).expect(409)
    await owner.post(`/data-quality-check-groups/${id}/cancel`).expect(202)
    expect((await row()).sealed_input).toBeNull()
  })
})
