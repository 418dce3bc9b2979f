import { createHash, randomUUID } from 'node:crypto'
import { request as sendRequest } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { tableFromIPC } from 'apache-arrow'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { until } from '@sluice/testing/wait-until'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { fill, loadedPlace, type LoadedPlace } from './view-fixtures.ts'

let service: Service
let client: string
let owner: Asking
let analyst: Asking
let token: string
let place: LoadedPlace
/** A schema with a table `cases`, as the first schema has one. */
let other: LoadedPlace
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = service.as(
    await service.identity.person(client, [
      'ROLE_MANAGE_SCHEMA',
      'ROLE_MANAGE_DATA_PIPELINE',
      'ROLE_MANAGE_VARIABLE',
      'ROLE_MANAGE_VIEW',
    ]),
  )
  const person = await service.identity.person(client, ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE'])
  token = person.token
  analyst = service.as(person)
  place = await loadedPlace(service, owner, client, { schema: { schemaName: 'health' } })
  other = await loadedPlace(service, owner, client, { schema: { schemaName: 'archive' } })
  for (const [{ schemaName }, region] of [
    [place, 'now'],
    [other, 'then'],
  ] as const)
    await fill(
      service,
      client,
      { schemaName, table: 'cases' },
      { types: { id: 'INTEGER', region: 'TEXT' }, rows: [[1, region]] },
    )
})
afterAll(() => service?.stop())

const ask = (sql: string, more: object = {}, query = '') => analyst.post(`/queries${query}`).send({ sql, ...more })
const explain = (sql: string, more: object = {}) => analyst.post('/queries/explain').send({ sql, ...more })
const ofBoth = () => ({ schemas: [{ id: place.schema }, { id: other.schema }] })

/** The sessions of readers in the warehouse: all of them, or those that run a statement. */
const sessions = async (state = '%'): Promise<number> => {
  await using superuser = await service.stack.inside(client)
  const { rows } = await superuser.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and usename like '%\\_read' and state like $1`,
    [state],
  )
  return rows[0].n
}

/** Waits until the queries of earlier tests have ended, with their sessions. */
const nobodyReads = () => until(async () => (await sessions()) === 0, { within: 60_000 })
const somebodyReads = (count = 1) => until(async () => (await sessions('active')) === count, { within: 60_000 })
const audited = async () =>
  service.stack.db
    .selectFrom('audit')
    .select(['actor', 'client', 'details'])
    .where('operation', '=', 'queries.run')
    .where('client', '=', client)
    .orderBy('id', 'desc')
    .execute()

/** Starts a request, and returns the function that closes its connection. */
function abandonable(sql: string, query = ''): () => void {
  const sent = sendRequest(`${service.url}/api/v1/queries${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  sent.on('error', () => {})
  sent.on('response', (response) => response.on('error', () => {}).resume())
  sent.end(JSON.stringify({ sql }))
  return () => sent.destroy()
}

describe('a query', () => {
  it('returns rows with the names and types of their columns, and how long it took', async () => {
    const { body } = await ask(
      `select id, region, id * 1.5 as price, date '2026-01-31' as day, 9007199254740993 as big, null as nothing from ${place.table} order by id;`,
    ).expect(200)
    expect(body.columns.map(({ name, dataType }: { name: string; dataType: string }) => [name, dataType])).toEqual([
      ['id', 'INTEGER'],
      ['region', 'TEXT'],
      ['price', 'DECIMAL'],
      ['day', 'DATE'],
      ['big', 'BIGINT'],
      ['nothing', 'TEXT'],
    ])
    expect(body).toMatchObject({
      rows: [
        [1, 'north', '1.5', '2026-01-31', '9007199254740993', null],
        [2, 'south', '3.0', '2026-01-31', '9007199254740993', null],
        [3, 'north', '4.5', '2026-01-31', '9007199254740993', null],
      ],
      height: 3,
      width: 6,
      more: false,
    })
    expect(body.queryDuration).toBeGreaterThan(0)
    expect(Date.parse(body.queryStartTime)).toBeGreaterThan(Date.now() - 60_000)
  })

  it('returns as many rows as its limit allows, and says whether there are more', async () => {
    const { body } = await ask(`select * from generate_series(1, 5000) as n`).expect(200)
    expect([body.height, body.more]).toEqual([1_000, true])
    expect((await ask('select * from generate_series(1, 3) as n', { limit: 3 }).expect(200)).body.more).toBe(false)
    expect((await ask('select * from generate_series(1, 4) as n', { limit: 3 }).expect(200)).body).toMatchObject({
      rows: [[1], [2], [3]],
      more: true,
    })
    const wide = `select repeat('x', 1000000) from generate_series(1, 20)`
    const { body: cut } = await ask(wide).expect(200)
    expect([cut.height < 20, cut.more]).toEqual([true, true])
  })

  it('finds tables without a schema in all schemas, and refuses a name that several of them have', async () => {
    expect((await ask(`select count(*) as n from ${other.table}`).expect(200)).body.rows).toEqual([['3']])
    const { body } = await ask('select * from cases').expect(422)
    expect(body.errors).toEqual([
      {
        pointer: '/sql',
        detail: `Several schemas have a table "cases": "archive", "health". Write the schema before the name, such as archive.cases.`,
      },
    ])
    expect((await ask('select region from health.cases').expect(200)).body.rows).toEqual([['now']])
  })

  it('finds tables in the order of its schemas, and only there', async () => {
    expect((await ask('select region from cases', ofBoth()).expect(200)).body.rows).toEqual([['now']])
    const reversed = { schemas: ofBoth().schemas.toReversed() }
    expect((await ask('select region from cases', reversed).expect(200)).body.rows).toEqual([['then']])
    const { body } = await ask(`select * from ${place.table}`, { schemas: [{ id: other.schema }] }).expect(422)
    expect(body).toMatchObject({ code: 'query-failed', detail: expect.stringContaining('does not exist') })
  })

  it('is refused for an unknown schema, for one of another organisation, and for one without a warehouse', async () => {
    const stranger = (await service.identity.client()).id
    const there = service.as(await service.identity.person(stranger, ['ROLE_MANAGE_SCHEMA']))
    const { body: schema } = await there
      .post('/schemas')
      .send({ name: 'Theirs', permanent: false, providerSchema: 'SQL_DATABASE_D' })
      .expect(201)
    for (const id of [randomUUID(), schema.id]) {
      const { body } = await ask('select 1', { schemas: [{ id: place.schema }, { id }] }).expect(422)
      expect(body.errors).toEqual([
        { pointer: '/schemas/1/id', detail: `No schema that you may see has the id ${id}. Choose another schema.` },
      ])
    }
    const { body: none } = await owner
      .post('/schemas')
      .send({ name: 'Without a warehouse', permanent: false, providerSchema: 'NA' })
      .expect(201)
    const { body } = await ask('select 1', { schemas: [{ id: none.id }] }).expect(422)
    expect(body.errors[0].pointer).toBe('/schemas/0/id')
  })

  it('cannot read what another organisation has loaded', async () => {
    const there = (await service.identity.client()).id
    const reader = service.as(await service.identity.person(there, ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']))
    const { body } = await reader.post('/queries').send({ sql: 'select * from health.cases' }).expect(422)
    expect(body.code).toBe('query-failed')
    expect((await reader.post('/queries').send({ sql: 'select 1 as one' }).expect(200)).body.rows).toEqual([[1]])
  })

  it.each([
    ['two statements', 'select 1; select 2'],
    ['a statement after a comment', 'select 1; -- one\n drop table health.cases'],
    ['DELETE', 'delete from health.cases'],
    ['a CTE that writes', 'with gone as (delete from health.cases returning *) select * from gone'],
    ['SELECT INTO', 'select * into health.copied from health.cases'],
    ['CREATE TABLE', 'create table health.made (id int)'],
    ['COPY', `copy health.cases to program 'id'`],
    ['SET', 'set role none'],
    ['a closing bracket', 'select 1) as q; drop table health.cases; select * from (select 1'],
    ['EXPLAIN ANALYZE', 'explain analyze delete from health.cases'],
    ['a bind parameter', 'select $1'],
  ])('is refused if it is %s, and changes nothing', async (_what, sql) => {
    for (const format of ['', '?format=csv', '?format=parquet']) {
      const { body } = await ask(sql, {}, format).expect(422)
      expect([sql, body.code]).toEqual([sql, expect.stringMatching(/^(sql-not-allowed|query-failed)$/)])
    }
    await explain(sql).expect(422)
    expect((await ask('select count(*) from health.cases').expect(200)).body.rows).toEqual([['1']])
  })

  it('is refused with one sentence if it is blank, too long, or limited to no row', async () => {
    expect((await ask('  \n ').expect(422)).body.detail).toBe('The query must not be blank.')
    const { body: long } = await ask(`select 1 -- ${'x'.repeat(1_000_000)}`).expect(422)
    expect(long.errors).toEqual([{ pointer: '/sql', detail: 'must have at most 100000 characters' }])
    await ask(`select 1 -- ${'x'.repeat(1_100_000)}`).expect(413)
    const { body: none } = await ask('select 1', { limit: 0 }).expect(400)
    expect(none.errors).toEqual([{ pointer: '/limit', detail: 'must be 1 or more' }])
    const { body: many } = await ask('select 1', { limit: 10_001 }).expect(422)
    expect(many.errors[0].pointer).toBe('/limit')
    expect((await ask('select 1', {}, '?format=xml').expect(406)).body.detail).toContain('json, ndjson, csv')
  })

  it('is refused without the role that reads all loaded data', async () => {
    for (const path of ['/queries', '/queries/explain']) await owner.post(path).send({ sql: 'select 1' }).expect(403)
    await service.http.post('/api/v1/queries').send({ sql: 'select 1' }).expect(401)
  })
})

describe('an error of a query', () => {
  const failed = async (sql: string, more: object = {}, query = '') =>
    (await ask(sql, more, query).expect(422)).body.detail as string

  it('names line and column in the text of the user', async () => {
    expect(await failed('select id,\n  nothing_like_it\nfrom health.cases')).toMatch(
      /^The query failed in line 2, column 3: column "nothing_like_it" does not exist\./,
    )
    expect(await failed('selec 1')).toBe('Enter a single query that begins with SELECT, WITH, VALUES or TABLE.')
    expect(await failed('select 1 / (id - 1) from health.cases')).toMatch(/^The query failed: division by zero\.$/)
    expect((await explain('select\n nope').expect(422)).body.detail).toContain('in line 2, column 2')
  })

  it('names line and column in the text of the user although values of variables were inserted', async () => {
    const variables = [
      { name: 'A', value: 'a long value\nin three\nlines' },
      { name: 'N', value: '12345678' },
    ]
    const sql = "select '${A}' as a, ${N} as n,\n  ${N} + nothing_like_it,\n'${A}' from health.cases"
    for (const format of ['', '?format=csv'])
      expect(await failed(sql, { variables }, format)).toMatch(/in line 2, column 10: column "nothing_like_it"/)
    expect((await explain(sql, { variables }).expect(422)).body.detail).toContain('in line 2, column 10')
    expect(
      await failed('select\n ${A:identifier} from health.cases', { variables: [{ name: 'A', value: 'no such' }] }),
    ).toMatch(/in line 2, column 2: column "no such" does not exist/)
  })
})

describe('a variable in a query', () => {
  beforeAll(async () => {
    for (const [name, value, secured] of [
      ['REGION', 'north', false],
      ['WANTED', '1, 3', false],
      ['PASSWORD', 'correct horse', true],
      ['DB:PASS WORD', 'correct horse', true],
    ] as const)
      await owner.post('/variables').send({ name, value, secured }).expect(201)
  })

  it('has its stored value, or the value of the request', async () => {
    const sql = `select count(*) from ${place.table} where region = \${REGION} and id in (\${WANTED:list})`
    expect((await ask(sql).expect(200)).body.rows).toEqual([['2']])
    const variables = [{ name: 'REGION', value: 'south' }]
    expect((await ask(sql, { variables }).expect(200)).body.rows).toEqual([['0']])
    const { text } = await ask('select ${REGION} as r', { variables }, '?format=csv').buffer().expect(200)
    expect(text).toBe('r\r\nsouth\r\n')
  })

  it('is never run as SQL', async () => {
    for (const value of ["x' or 1 = 1 --", "'; drop table health.cases; --", '\\', "\\' or true", '1; select 2', '']) {
      const variables = [{ name: 'V', value }]
      const { body } = await ask("select '${V}' as v", { variables }).expect(200)
      expect(body.rows).toEqual([[value]])
    }
    expect((await ask('select count(*) from health.cases').expect(200)).body.rows).toEqual([['1']])
  })

  it('is refused if it is unknown, unused, or inside other text', async () => {
    expect((await ask('select ${NOWHERE}').expect(422)).body).toMatchObject({
      code: 'variable-unknown',
      detail:
        'The variable ${NOWHERE} does not exist or has no value. Create it, correct its name, or pass its value in `variables`.',
    })
    const { body: unused } = await ask('select ${REGION}', { variables: [{ name: 'REGOIN', value: 'x' }] }).expect(422)
    expect(unused.errors).toEqual([
      { pointer: '/variables/0/name', detail: 'The query does not use ${REGOIN}. Correct the name, or leave it out.' },
    ])
    expect((await ask("select 'a ${REGION} b'").expect(422)).body.code).toBe('variable-misplaced')
    await ask('select ${V}', {
      variables: [
        { name: 'V', value: 'a' },
        { name: 'V', value: 'b' },
      ],
    }).expect(400)
  })

  it('is refused if it is secured, so that no query shows its value', async () => {
    for (const sql of ['select ${PASSWORD}', "select reverse('${PASSWORD}')", 'select 1 where ${PASSWORD} > 1']) {
      for (const answer of [
        await ask(sql).expect(422),
        await explain(sql).expect(422),
        await ask(sql, {}, '?format=csv').expect(422),
      ]) {
        expect(answer.body.detail).toContain('The variable ${PASSWORD} is secured')
        expect(JSON.stringify(answer.body)).not.toContain('horse')
      }
    }
    // The part after the colon is not a use of the variable, so it belongs to the name.
    expect(JSON.stringify((await ask('select ${DB:PASS WORD} as p').expect(422)).body)).not.toContain('horse')
    const variables = [{ name: 'PASSWORD', value: 'mine' }]
    expect((await ask('select ${PASSWORD} as p', { variables }).expect(200)).body.rows).toEqual([['mine']])
  })

  it('cannot make a query of unlimited length', async () => {
    const variables = [{ name: 'V', value: 'x'.repeat(5_000) }]
    const { body } = await ask(`select ${'${V},'.repeat(10_000)} 1`, { variables }).expect(422)
    expect(body.detail).toContain('longer than 1,000,000 characters')
  })
})

describe('the result of a query as a file', () => {
  const sql = () => `select id, region from ${place.table} order by id`

  it('has all rows in every format', async () => {
    const file = async (format: string) => {
      const { body, headers } = await ask(sql(), {}, `?format=${format}`)
        .buffer()
        .parse((response, done) => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('end', () => done(null, Buffer.concat(parts)))
        })
        .expect(200)
      expect(headers['content-disposition']).toBe(`attachment; filename="query.${format}"`)
      expect(headers['accept-ranges']).toBe('none')
      return body as Buffer
    }
    expect((await file('csv')).toString()).toBe('id,region\r\n1,north\r\n2,south\r\n3,north\r\n')
    expect(
      (await file('ndjson'))
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { id: 1, region: 'north' },
      { id: 2, region: 'south' },
      { id: 3, region: 'north' },
    ])
    expect(
      tableFromIPC(await file('arrow'))
        .toArray()
        .map((row) => row.toJSON()),
    ).toEqual([
      { id: 1, region: 'north' },
      { id: 2, region: 'south' },
      { id: 3, region: 'north' },
    ])
    expect((await file('parquet')).subarray(0, 4).toString()).toBe('PAR1')
    expect((await file('xlsx')).subarray(0, 2).toString()).toBe('PK')
  })

  it('is chosen by the Accept header too, and has at most `limit` rows', async () => {
    const answer = await ask('select * from generate_series(1, 50000) as n', { limit: 20_000 })
      .set('accept', 'text/csv')
      .buffer()
      .expect(200)
    expect(answer.text.split('\r\n')).toHaveLength(20_002)
  })

  it('is a problem if the query fails before its first row, and breaks off if it fails later', async () => {
    expect((await ask('select 1 / 0', {}, '?format=csv').expect(422)).body.code).toBe('query-failed')
    const late = ask('select 1 / (9999999 - i) from generate_series(1, 10000000) i', {}, '?format=csv').buffer()
    await expect(late).rejects.toThrow(/aborted|socket hang up/)
  })
})

describe('a query that takes long', () => {
  beforeEach(nobodyReads)

  it.each([
    ['JSON', ''],
    ['a file whose first row has not arrived', '?format=csv'],
  ])('is cancelled in the warehouse when its connection closes, as %s', async (_what, query) => {
    const abandon = abandonable('select pg_sleep(1000)', query)
    await somebodyReads()
    abandon()
    await nobodyReads()
  })

  it.each(['csv', 'xlsx'])(
    'is cancelled when its connection closes, as a %s file that is being read',
    async (format) => {
      const abandon = abandonable(
        'select i, repeat(md5(i::text), 100), pg_sleep(0.002)::text from generate_series(1, 1000000) i',
        `?format=${format}`,
      )
      await somebodyReads()
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      expect(await sessions('active')).toBe(1)
      abandon()
      await nobodyReads()
      const [last] = await until(async () => {
        const rows = await audited()
        return (rows[0]!.details as { outcome: string }).outcome === 'FAILED' && rows
      })
      expect(last!.details).toMatchObject({ format })
    },
  )

  it('of one organisation leaves slots for another', async () => {
    const abandon = Array.from({ length: 3 }, () => abandonable('select pg_sleep(1000)'))
    await somebodyReads(2)
    const there = (await service.identity.client()).id
    const reader = service.as(await service.identity.person(there, ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']))
    await reader.post('/queries').send({ sql: 'select 1' }).expect(200)
    for (const each of abandon) each()
    await nobodyReads()
  })

  itUnless(longRunOnly)(
    'is stopped after 28 seconds, whether it sleeps or sorts 100 GB, as JSON and as a file',
    async () => {
      for (const sql of [
        'select pg_sleep(1000)',
        'select i, repeat(md5(i::text), 100) as t from generate_series(1, 30000000) i order by t',
      ])
        for (const query of ['', '?format=csv']) {
          const { body } = await ask(sql, {}, query).expect(422)
          expect(body.code).toMatch(/^(query-timeout|result-too-large|refused)$/)
        }
      await nobodyReads()
    },
    200_000,
  )
})

describe('the audit of queries', () => {
  it('records who ran what, and the number of rows, even if the query failed', async () => {
    const sql = `select id from ${place.table} where region = \${R}`
    const variables = [{ name: 'R', value: 'a person' }]
    await ask(sql, { variables, ...ofBoth() }).expect(200)
    const [first] = await audited()
    expect(first).toMatchObject({
      actor: expect.any(String),
      client,
      details: {
        sql,
        schemas: [place.schema, other.schema],
        variables: ['R'],
        format: 'json',
        rows: 0,
        outcome: 'OK',
      },
    })
    expect(JSON.stringify(first)).not.toContain('a person')
    await ask('select * from generate_series(1, 5) as n', {}, '?format=ndjson').buffer().expect(200)
    await ask('select nope', {}).expect(422)
    const [second, third] = await until(async () => {
      const rows = await audited()
      return rows.length > 2 && rows
    })
    expect([second!.details, third!.details]).toMatchObject([
      { sql: 'select nope', format: 'json', rows: 0, outcome: 'FAILED' },
      { format: 'ndjson', rows: 5, outcome: 'OK' },
    ])
  })
})

describe('the audit of a query of more than 10,000 characters', () => {
  it('has its beginning, its length and its SHA-256', async () => {
    const sql = `select 1 as n -- ${'x'.repeat(10_000)}\n, 2 as m`
    await ask(sql, {}).expect(200)
    const [first] = await audited()
    expect(first!.details).toMatchObject({
      sql: sql.slice(0, 10_000),
      sqlLength: sql.length,
      sqlSha256: createHash('sha256').update(sql).digest('hex'),
    })
  })
})

describe('the plan of a query', () => {
  it('is what the warehouse prints, with a summary, and the query is not run', async () => {
    const sql = `select c.region, pg_sleep(1000) from cases c join ${other.table} o on o.id = c.id`
    const { body } = await explain(sql, ofBoth()).expect(200)
    expect(body).toMatchObject({
      tables: [
        { schema: 'archive', name: other.table },
        { schema: 'health', name: 'cases' },
      ],
      estimatedRows: expect.any(Number),
    })
    expect(body.summary).toMatch(
      new RegExp(
        `^The query reads archive\\.${other.table}, health\\.cases\\. The warehouse estimates a result of [\\d,]+ rows?\\.$`,
      ),
    )
    expect(body.plan).toMatch(/\bcost=/)
    expect((await explain('select 1').expect(200)).body).toMatchObject({
      summary: 'The query reads no table. The warehouse estimates a result of 1 row.',
      tables: [],
    })
  })

  it('names the views of a query and the tables behind them', async () => {
    const view = {
      name: 'Regions',
      schema: { id: place.schema },
      query: 'select region from cases',
      materialized: false,
      disabled: false,
      runTrigger: 'NEVER',
    }
    await owner.post('/views').send(view).expect(201)
    const { body } = await explain('select * from regions').expect(200)
    expect(body.tables).toEqual([
      { schema: 'health', name: 'cases' },
      { schema: 'health', name: 'regions' },
    ])
  })

  it('is refused for an ambiguous name, an unknown schema, and a limit', async () => {
    expect((await explain('select * from cases').expect(422)).body.detail).toContain('Several schemas have a table')
    await explain('select 1', { schemas: [{ id: randomUUID() }] }).expect(422)
    await explain('select 1', { limit: 5 }).expect(400)
  })
})
