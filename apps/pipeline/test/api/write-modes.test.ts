import { describe, expect, it } from '@jest/globals'
import { pipelineBody } from './app-under-test.ts'
import { fileLoadsUnderTest } from './file-loads-setup.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'

const loads = fileLoadsUnderTest([
  'ROLE_MANAGE_VIEW',
  'ROLE_MANAGE_DATA_QUALITY_CHECK',
  'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
])
const { owner, create, run } = loads

const make = async (path: string, body: object) => (await owner.post(`/${path}`).send(body).expect(201)).body
const merging = (mergeKey: string[], changes: object = {}) => create({ writeMode: 'MERGE', mergeKey, ...changes })

const upload = async (path: string, content: string, name = 'month.csv') =>
  (await owner.post(`${path}/file?name=${name}`).type('text/csv').send(content).expect(200)).body

async function load(path: string, content: string, body: object = {}) {
  const file = await upload(path, content)
  return { ...(await run(path, body)), file }
}

async function change(path: string, changes: object, status = 200) {
  const { body } = await owner.get(path).expect(200)
  return (
    await owner
      .put(path)
      .send({ ...body, ...changes })
      .expect(status)
  ).body
}

const rowsOf = async (path: string) =>
  (await owner.get(`${path}/data`).expect(200)).body.rows
    .map((row: (string | number | null)[]) => row.map((cell) => cell ?? '').join(' '))
    .toSorted()

describe('the writeMode of a pipeline', () => {
  it('is REPLACE by default, and is stored and returned with its key', async () => {
    const path = await create({})
    expect((await owner.get(path)).body).toMatchObject({ writeMode: 'REPLACE' })
    expect(await change(path, { writeMode: 'MERGE', mergeKey: ['id'] })).toMatchObject({ mergeKey: ['id'] })
    expect(await change(path, { name: 'Renamed' })).toMatchObject({ writeMode: 'MERGE', mergeKey: ['id'] })
    expect(await change(path, { writeMode: 'REPLACE', mergeKey: null })).not.toHaveProperty('mergeKey')
  })

  it.each([
    ['a key without MERGE', { writeMode: 'APPEND', mergeKey: ['id'] }, '/mergeKey'],
    ['MERGE of a file without a key', { writeMode: 'MERGE' }, '/mergeKey'],
    ['schemaChanges REPLACE', { writeMode: 'APPEND', schemaChanges: 'REPLACE' }, '/schemaChanges'],
    [
      'continuous updates',
      { writeMode: 'APPEND', continuouslyUpdated: true, continuousUpdateInterval: 15 },
      '/continuouslyUpdated',
    ],
    [
      'increments',
      {
        type: 'SQL_DATABASE_D',
        jdbcSource: { hostname: 'db.invalid', database: 'registry', username: 'reader', password: 'not very secret' },
        tables: [{ name: 'cases' }],
        csvOptions: undefined,
        incremental: { cursorColumn: 'at', key: ['id'] },
        writeMode: 'APPEND',
      },
      '/incremental',
    ],
    [
      'a key of several tables',
      {
        type: 'SQL_DATABASE_D',
        jdbcSource: { hostname: 'db.invalid', database: 'registry', username: 'reader', password: 'not very secret' },
        tables: [{ name: 'cases' }, { name: 'contacts' }],
        csvOptions: undefined,
        writeMode: 'MERGE',
        mergeKey: ['id'],
      },
      '/mergeKey',
    ],
  ])('contradicts %s', async (_what, changes, pointer) => {
    const { body } = await owner.post('/data-pipelines').send(pipelineBody(loads.schema, changes)).expect(422)
    expect(body.errors).toEqual([{ pointer, detail: expect.stringMatching(/\. [A-Z].*\.$/) }])
  })

  it('refuses incremental runs, and repeated files where no file is added', async () => {
    const appends = await create({ writeMode: 'APPEND' })
    const replaces = await create({})
    for (const path of [appends, replaces]) await upload(path, 'id\n1\n')
    const refused = async (path: string, body: object) =>
      (await owner.post(`${path}/run`).send(body).expect(422)).body.errors[0].pointer
    expect(await refused(appends, { mode: 'INCREMENTAL' })).toBe('/mode')
    expect(await refused(replaces, { repeatFile: true })).toBe('/repeatFile')
  })
})

describe('monthly files with writeMode APPEND', () => {
  it('are each added once, also if a file is loaded or uploaded again', async () => {
    const path = await create({ writeMode: 'APPEND' })
    expect(await load(path, 'id,n\n1,10\n2,20\n')).toMatchObject({ status: 'OK', rowsWritten: 2 })
    expect(await load(path, 'id,n\n2,20\n3,70000\n')).toMatchObject({ status: 'OK', rowsWritten: 2 })
    const all = ['1 10', '2 20', '2 20', '3 70000']
    expect(await rowsOf(path)).toEqual(all)
    const again = 'The rows of "month.csv" are already in the table, so nothing was added.'
    expect(await run(path)).toMatchObject({
      status: 'WARNING',
      rowsWritten: 0,
      message: expect.stringContaining(again),
    })
    const older = await load(path, 'id,n\n1,10\n2,20\n')
    expect(older).toMatchObject({
      status: 'WARNING',
      file: { mismatch: expect.stringMatching(/add nothing.*repeatFile/) },
    })
    expect(await run(path, { dryRun: true })).toMatchObject({
      status: 'WARNING',
      message: expect.stringContaining(again),
    })
    expect(await rowsOf(path)).toEqual(all)
    expect(await run(path, { repeatFile: true })).toMatchObject({ status: 'OK', rowsWritten: 2 })
    expect(await rowsOf(path)).toEqual([...all, '1 10', '2 20'].toSorted())
    const { body } = await owner.get(path).expect(200)
    expect(body.status.tables).toMatchObject([{ rowCount: 6 }])
    expect((await owner.get(`${path}/profile`).expect(200)).body).toMatchObject({ scope: 'LOAD' })
  })

  it('do not add the file that was loaded before the mode was changed', async () => {
    const path = await create({})
    await load(path, 'id\n1\n')
    await change(path, { writeMode: 'APPEND' })
    expect(await run(path)).toMatchObject({ status: 'WARNING' })
    await load(path, 'id\n2\n')
    expect(await rowsOf(path)).toEqual(['1', '2'])
    await change(path, { writeMode: 'REPLACE' })
    await load(path, 'id\n3\n')
    expect(await rowsOf(path)).toEqual(['3'])
  })

  it('add and widen columns, warn once of a missing one, and refuse a wrong file', async () => {
    const path = await create({ writeMode: 'APPEND' })
    await load(path, 'id,n,note\n1,10,a\n')
    const wider = await load(path, 'id,n,extra\n2,70000,x\n')
    expect(wider.file.mismatch).toBe(
      'Columns of the last load that the file does not have: "note". A run would keep these columns and leave them empty in its rows. Columns that the last load did not have: "extra". A run would add these columns to the table. A run would change the type of column "n" from SMALLINT to INTEGER.',
    )
    expect(wider).toMatchObject({ status: 'WARNING' })
    expect(await load(path, 'id,n,extra\n3,1,y\n')).toMatchObject({ status: 'OK' })
    expect(await rowsOf(path)).toEqual(['1 10 a ', '2 70000  x', '3 1  y'])
    const wrong = await load(path, 'town,mayor\nOslo,Anne\n')
    expect(wrong).toMatchObject({ status: 'FAILED', errorCode: 'SCHEMA_MISMATCH' })
    expect(wrong.file.mismatch).toMatch(/^A run would fail, because the source has no column of the last load\./)
    const empty = await load(path, 'id,n,extra\n')
    expect(empty.file.mismatch).toBe('The file has no records, so a run would change no rows.')
    expect(empty).toMatchObject({ status: 'WARNING', message: expect.stringContaining('so the table is unchanged') })
    expect(await rowsOf(path)).toHaveLength(3)
  })

  it('can be undone, and are added after that', async () => {
    const path = await create({ writeMode: 'APPEND' })
    await load(path, 'id\n1\n')
    await load(path, 'id\n2\n')
    expect(await run(path, {}, 'restore')).toMatchObject({ status: 'OK', action: 'RESTORE' })
    expect(await rowsOf(path)).toEqual(['1'])
    expect(await run(path, { dryRun: true })).toMatchObject({ plannedTables: [{ rowsBefore: 1, rowsAfter: 2 }] })
    expect(await run(path)).toMatchObject({ status: 'OK', rowsWritten: 1 })
    expect(await rowsOf(path)).toEqual(['1', '2'])
  })

  it('can still be undone after a file without rows', async () => {
    const path = await create({ writeMode: 'APPEND' })
    await load(path, 'id,name\n1,January\n')
    await load(path, 'id,name\n2,wrong\n')
    expect((await load(path, 'id,name\n')).status).toBe('WARNING')
    expect(await rowsOf(path)).toEqual(['1 January', '2 wrong'])
    await run(path, {}, 'restore')
    expect(await rowsOf(path)).toEqual(['1 January'])
  })

  it('start again with a run that rebuilds the table', async () => {
    const path = await create({ writeMode: 'APPEND' })
    await load(path, 'id\n1\n')
    await load(path, 'id\n2\n')
    const rebuilt = await load(path, 'town\nOslo\n', { rebuild: true })
    expect(rebuilt.message).toMatch(/^Loaded 1 row into \S+\. All 2 rows of earlier loads were replaced\./)
    const { body: logs } = await owner.get(`${path}/logs?taskId=${rebuilt.taskId}`).expect(200)
    expect(logs.map(({ message }: { message: string }) => message)).toContain(rebuilt.message)
    expect((await owner.get(`${path}/publications`).expect(200)).body[0]).toMatchObject({
      writeMode: 'REPLACE',
      tables: [{ rowsBefore: 2, rowsAfter: 1 }],
    })
    expect(await rowsOf(path)).toEqual(['Oslo'])
    await load(path, 'town\nBergen\n')
    expect(await rowsOf(path)).toEqual(['Bergen', 'Oslo'])
  })

  it('pass a gate that sees the rows of the whole table, and feed a view', async () => {
    const query = 'select n from sums group by n having count(*) > 1'
    const check = await make('data-quality-checks', checkBody({ query }))
    const dataQualityCheckGroup = await make('data-quality-check-groups', groupBody({ dataQualityChecks: [check] }))
    const path = await create({
      writeMode: 'APPEND',
      dataQualityCheckGroup,
      dataWarehouseTarget: { schema: { id: loads.schema }, tableName: 'sums' },
      transformation: { sqlStatements: [{ statement: 'update sums set n = n + 1' }] },
    })
    await load(path, 'n\n1\n')
    expect(await load(path, 'n\n2\n')).toMatchObject({ status: 'OK' })
    expect(await load(path, 'n\n3\n1\n')).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED' })
    expect(await rowsOf(path)).toEqual(['2', '3'])
  })
})

describe('files with writeMode MERGE', () => {
  it('change the rows with the same key, add others, and leave the rest', async () => {
    const path = await merging(['Case No'])
    await load(path, 'Case No,State,Note\n1,open,a\n2,open,b\n')
    expect(await load(path, 'Case No,State,Note\n2,closed,\n3,open,c\n')).toMatchObject({
      status: 'OK',
      rowsWritten: 2,
      message: expect.stringMatching(/^Loaded 2 rows into \S+\. 1 row is new, 1 row changed\.$/),
    })
    const merged = ['1 open a', '2 closed ', '3 open c']
    expect(await rowsOf(path)).toEqual(merged)
    const noChange = /^Read 2 rows for \S+\. No row changed\.$/
    const unchanged = { status: 'OK', rowsWritten: 2, message: expect.stringMatching(noChange) }
    expect(await run(path)).toMatchObject(unchanged)
    expect(await rowsOf(path)).toEqual(merged)
    expect((await owner.get(`${path}/publications`).expect(200)).body).toMatchObject([
      {
        message: expect.stringMatching(noChange),
        tables: [{ rowsBefore: 3, rowsAfter: 3, rowsAdded: 0, rowsChanged: 0, rowsRemoved: 0 }],
      },
      { tables: [{ rowsBefore: 2, rowsAfter: 3, rowsWritten: 2, rowsAdded: 1, rowsChanged: 1, rowsRemoved: 0 }] },
      { tables: [{ rowsWritten: 2, rowsAfter: 2, rowsAdded: 2, rowsChanged: 0, rowsRemoved: 0 }] },
    ])
    // The run without changes is not what a restore undoes.
    await run(path, {}, 'restore')
    expect(await rowsOf(path)).toEqual(['1 open a', '2 open b'])
    await run(path, {}, 'restore')
    expect(await rowsOf(path)).toEqual(merged)
    const { columns } = (await owner.get(`${path}/table`).expect(200)).body
    expect(columns.filter(({ primaryKey }: { primaryKey: boolean }) => primaryKey)).toMatchObject([{ name: 'case_no' }])
  })

  it.each([
    [
      'several rows with the same key',
      'id,n\n2,b\n2,c\n',
      'DUPLICATE_KEY',
      /^Nothing was loaded into \S+, because lines 2 and 3 of month.csv have the same key \(id = 2\)\. Correct the source/,
    ],
    [
      'a row without a key',
      'id,n\n3,b\n,b\n',
      'NULL_KEY',
      /^Nothing was loaded into \S+, because key column "id" has no value in line 3 of month\.csv\. Correct the source/,
    ],
    ['no key column', 'other,n\n2,b\n', 'KEY_COLUMN_MISSING', /no column "id".*source are "other", "n"\./],
  ])('with %s fail in one sentence and leave the table unchanged', async (_what, content, errorCode, message) => {
    const path = await merging(['id'])
    await load(path, 'id,n\n1,a\n')
    const failed = await load(path, content)
    expect(failed).toMatchObject({ status: 'FAILED', errorCode, message: expect.stringMatching(message) })
    if (errorCode === 'KEY_COLUMN_MISSING') expect(failed.file.mismatch).toMatch(/^A run would fail: .*no column "id"/)
    expect(await rowsOf(path)).toEqual(['1 a'])
  })

  it('name the lines of a file, and the rows of JSON, that have the same key or lack one', async () => {
    const path = await merging(['Day', 'Case No'])
    const message = async (content: string) => (await load(path, content)).message
    const lines = ['# cases', 'Day;Case No;Note', '31.12.2025;7;"a', 'b"', '31.12.2025;x;rejected;too long']
    const same = Array.from({ length: 7 }, () => '31.12.2025;8;c')
    expect(await message([...lines, ...same, ''].join('\n'))).toMatch(
      /because lines 6, 7, 8, 9, 10 and 2 more of month\.csv have the same key \(day = 2025-12-31, case_no = 8\)\./,
    )
    expect(await message('[{"Day":"a","Case No":1},{"Day":"b","Case No":1},{"Day":"b","Case No":1}]')).toMatch(
      /because rows 2 and 3 of month\.csv have the same key \(day = b, case_no = 1\)\./,
    )
    expect(await message('Day;Case No\na;1\n;2\nb;3\nc;\n')).toMatch(
      /because key column "Day" or "Case No" has no value in lines 3 and 5 of month\.csv\./,
    )
    expect(await message('[{"Day":"a","Case No":1},{"Day":"b"}]')).toMatch(/has no value in row 2 of month\.csv\./)
    // SQL statements can make rows that the file does not have.
    const { tableName } = (await owner.get(path).expect(200)).body.dataWarehouseTarget
    await change(path, { transformation: { sqlStatements: [{ statement: `update ${tableName} set day = 'x'` }] } })
    expect(await message('Day,Case No\na,1\nb,1\n')).toMatch(
      /because 2 rows have the same key \(day = x, case_no = 1\) after the SQL statements of the pipeline\. /,
    )
    await change(path, { transformation: { sqlStatements: [{ statement: `update ${tableName} set day = null` }] } })
    expect(await message('Day,Case No\n,1\n')).toMatch(/^A row of \S+ has no value in key column "day"\. /)
  })

  it('follow a changed key and type, or fail in one sentence if the rows of the table do not allow it', async () => {
    const path = await merging(['id'])
    await load(path, 'id,n,town\n1,a,Oslo\n2,a,Oslo\n')
    await change(path, { mergeKey: ['n'] })
    expect(await load(path, 'id,n,town\n3,c,Bergen\n')).toMatchObject({
      status: 'FAILED',
      errorCode: 'DUPLICATE_KEY',
      message: expect.stringMatching(/^Rows of earlier loads in \S+ have the same key \(n = a\); .*"rebuild": true/),
    })
    await change(path, { mergeKey: ['id', 'n'] })
    expect(await load(path, 'id,n,town\nx1,a,Bergen\n2,a,Vadso\n')).toMatchObject({ status: 'OK' })
    expect(await rowsOf(path)).toEqual(['1 a Oslo', '2 a Vadso', 'x1 a Bergen'])
    await change(path, { mergeKey: ['area'] })
    const lacking = await load(path, 'id,n,area\n5,e,north\n')
    expect(lacking).toMatchObject({
      status: 'FAILED',
      message: expect.stringMatching(/no value in key column "area", which is new/),
    })
    await change(path, { writeMode: 'APPEND', mergeKey: null })
    await load(path, 'id,n,town\n2,a,Hamar\n')
    expect(await rowsOf(path)).toEqual(['1 a Oslo', '2 a Hamar', '2 a Vadso', 'x1 a Bergen'])
  })

  it('are compared when they are uploaded, up to a number of rows', async () => {
    const path = await merging(['Case No', 'Year'])
    const checkKeys = async (...lines: string[]) =>
      (await upload(path, ['# a list of cases', 'Case No,Year,Note', ...lines, ''].join('\n'))).mismatch
    expect(await checkKeys('1,2026,a', '1,2025,b')).toBeUndefined()
    expect(await checkKeys('1,2026,"a', 'b"', '2,2026,c', '1,2026,d')).toBe(
      'A run would fail: lines 3 and 6 have the same key (Case No = 1, Year = 2026). Correct the source, or choose another mergeKey.',
    )
    expect(await checkKeys('1,2026,a', '2,,b')).toBe(
      'A run would fail: line 4 has no value in "Year", which is in mergeKey.',
    )
    // SQL statements can remove such rows before they are merged.
    const sqlStatements = [{ statement: `delete from t` }]
    await change(path, { transformation: { sqlStatements } })
    expect(await checkKeys('1,2026,a', '1,2026,b', '2,,c')).toBeUndefined()
    await change(path, { transformation: { sqlStatements: [] } })
    const long = Array.from({ length: 20_000 }, (_, index) => `${index},2026,x`)
    expect(await checkKeys(...long, '4,2026,y')).toBeUndefined()
  })

  it('are announced by a preview whose rows cannot be merged', async () => {
    const path = await merging(['id'])
    await upload(path, 'id,n\n1,a\n1,b\n,c\n')
    const { body: pipeline } = await owner.get(path).expect(200)
    const notes = async (changes: object = {}) => {
      const { body } = await owner
        .post('/data-pipelines/preview')
        .send({ ...pipeline, ...changes })
        .expect(200)
      return body.notes.filter((note: string) => note.startsWith('A run would'))
    }
    expect(await notes()).toEqual([
      'A run would fail: line 4 has no value in "id", which is in mergeKey.',
      'A run would fail: lines 2 and 3 have the same key (id = 1). Correct the source, or choose another mergeKey.',
    ])
    expect(await notes({ mergeKey: ['n'] })).toEqual([])
    expect(await notes({ mergeKey: ['x'] })).toEqual([expect.stringMatching(/^A run would fail: .*no column "x"/)])
  })
})

describe('the publications of a pipeline', () => {
  it('list what changed the table, newest first and in pages, and leave out what changed nothing', async () => {
    const path = await create({})
    const list = async (query = '') => owner.get(`${path}/publications${query}`).expect(200)
    expect((await list()).body).toEqual([])
    const first = await load(path, 'id,n\n1,1\n2,2\n')
    await change(path, { writeMode: 'MERGE', mergeKey: ['id'] })
    const rows = Array.from({ length: 150 }, (_, index) => `${index},70000,x`)
    const second = await load(path, ['id,n,extra', ...rows, '7,"', ''].join('\n'))
    await load(path, 'other\n1\n')
    await run(path, { dryRun: true })
    await change(path, { writeMode: 'APPEND', mergeKey: null })
    const third = await load(path, 'id,n\n1,1\n', { repeatFile: true })
    await run(path)
    const restored = await run(path, {}, 'restore')

    const { body, headers } = await list()
    // The message names the publication by the time in this list.
    expect(restored.message).toContain(`the rows that were published at ${body[2].published}.`)
    expect(headers['x-total-count']).toBe('4')
    expect(body).toMatchObject([
      {
        taskId: restored.taskId,
        action: 'RESTORE',
        startedBy: third.startedBy,
        tables: [{ rowsWritten: 150, rowsAfter: 150 }],
      },
      {
        taskId: third.taskId,
        writeMode: 'APPEND',
        rowsRejected: 0,
        file: { name: 'month.csv', sha256: third.file.sha256 },
        tables: [{ rowsWritten: 1, rowsAfter: 151 }],
      },
      {
        taskId: second.taskId,
        status: 'WARNING',
        writeMode: 'MERGE',
        trigger: 'MANUAL',
        rowsRejected: 1,
        tables: [{ rowsWritten: 150, rowsAfter: 150 }],
      },
      { taskId: first.taskId, action: 'RUN', writeMode: 'REPLACE', tables: [{ rowsAfter: 2, changes: [] }] },
    ])
    expect(body[0]).not.toHaveProperty('writeMode')
    const changes = body[2].tables[0].changes.toSorted((one: { kind: string }, other: { kind: string }) =>
      one.kind < other.kind ? -1 : 1,
    )
    expect(changes).toEqual([
      { kind: 'COLUMN_ADDED', column: 'extra', to: 'TEXT', warning: false },
      { kind: 'TYPE_WIDENED', column: 'n', from: 'SMALLINT', to: 'INTEGER', warning: false },
    ])
    expect(body[2].rowsRead).toBeGreaterThanOrEqual(150)
    expect(third.startedBy).toMatch(/./)
    const { body: page } = await list('?page=2&pageSize=3')
    expect(page).toMatchObject([{ taskId: first.taskId }])
  })
})
