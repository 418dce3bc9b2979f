import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { end, planned, runsOf, scheduled, virtualScheduler } from './schedule-fixtures.ts'
import { startStack, type Stack } from './worker-stack.ts'

let stack: Stack
let scheduler: ReturnType<typeof virtualScheduler>
beforeAll(async () => void (stack = await startStack()))
beforeEach(async () => {
  await stack.db.deleteFrom('data_pipelines').execute()
  scheduler = virtualScheduler(stack, '2026-11-22T09:59:30Z')
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const jobs = async () => {
  const { rows } = await sql`select data ->> 'run' from pgboss.job where state < 'active'`.execute(stack.db)
  return rows.length
}

const statement = (sql: string) => ({ transformation: JSON.stringify({ sqlStatements: [{ statement: sql }] }) })

/** Runs ticks of an hourly schedule, whose runs succeed immediately, and uploads files to its pipeline. */
function hourly(id: number) {
  let hour = 10
  return {
    /** Returns all runs so far. */
    async tick() {
      scheduler.set(`2026-11-22T${hour++}:00:00Z`)
      await scheduler.start()
      const runs = await runsOf(stack, { id })
      await stack.db
        .updateTable('runs')
        .set({ state: 'OK', finished_at: new Date() })
        .where('runnable_id', '=', id)
        .where('state', '=', 'QUEUED')
        .execute()
      return runs
    },
    async upload(sha256: string) {
      await stack.db.deleteFrom('uploaded_files').where('pipeline_id', '=', id).execute()
      const file = { uid: randomUUID(), pipeline_id: id, name: 'a.csv', size: 1, sha256 }
      await stack.db.insertInto('uploaded_files').values(file).execute()
    },
  }
}

describe('scheduler', () => {
  it('plans a new schedule in the time zone of its organisation, and starts one run when it is due', async () => {
    const pipeline = await scheduled(stack, { run_trigger: 'EVERY_DAY_2AM' })
    scheduler.client(pipeline.client, { timeZone: 'Europe/Oslo' })
    await scheduler.plan()
    const next = '2026-11-23T01:00:00.000Z'
    expect(await planned(stack, pipeline)).toEqual({ planned: true, zone: 'Europe/Oslo', next, full: next })
    const before = await jobs()
    scheduler.set('2026-11-23T00:59:59Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toEqual([])
    scheduler.set('2026-11-23T01:00:00Z')
    await Promise.all([scheduler.start(), scheduler.start(), scheduler.start()])
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toEqual([
      { trigger: 'SCHEDULE', mode: 'FULL', state: 'QUEUED', tick: next, said: [] },
    ])
    expect(await jobs()).toBe(before + 1)
    expect(await planned(stack, pipeline)).toMatchObject({ next: '2026-11-24T01:00:00.000Z' })
  })

  it('replans a changed schedule, and keeps a tick that was due before the change', async () => {
    const pipeline = await scheduled(stack)
    await scheduler.plan()
    scheduler.set('2026-11-22T10:00:01Z')
    const change = (columns: object) =>
      stack.db.updateTable('data_pipelines').set(columns).where('id', '=', pipeline.id).execute()
    await change({ run_trigger: 'EVERY_15_MIN' })
    await scheduler.plan()
    expect(await planned(stack, pipeline)).toMatchObject({ next: '2026-11-22T10:00:00.000Z' })
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toMatchObject([{ tick: '2026-11-22T10:00:00.000Z' }])
    await change({ disabled: true })
    await scheduler.plan()
    expect(await planned(stack, pipeline)).toMatchObject({ planned: true, next: undefined })
    await change({ disabled: false, name: 'Another name' })
    await scheduler.plan()
    expect(await planned(stack, pipeline)).toMatchObject({ next: '2026-11-22T10:15:00.000Z' })
    await change({ name: 'Yet another' })
    expect(await planned(stack, pipeline)).toMatchObject({ planned: true })
  })

  it('starts one run for ten missed ticks, and logs the number of skipped ones and the reason', async () => {
    const pipeline = await scheduled(stack)
    await scheduler.plan()
    scheduler.set('2026-11-22T19:30:00Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toEqual([
      {
        trigger: 'SCHEDULE',
        mode: 'FULL',
        state: 'QUEUED',
        tick: '2026-11-22T19:00:00.000Z',
        said: [
          'MEDIUM This run was due at 2026-11-22 19:00 (UTC). It also covers 9 earlier runs, the first due at 2026-11-22 10:00 (UTC), because no worker was running at that time.',
        ],
      },
    ])
    expect(await planned(stack, pipeline)).toMatchObject({ next: '2026-11-22T20:00:00.000Z' })
  })

  it('skips a tick while the previous run is active, and notes it in the log of that run', async () => {
    const pipeline = await scheduled(stack)
    await scheduler.plan()
    for (const hour of ['10', '11']) {
      scheduler.set(`2026-11-22T${hour}:00:00Z`)
      await scheduler.start()
    }
    expect(await runsOf(stack, pipeline)).toMatchObject([
      {
        tick: '2026-11-22T10:00:00.000Z',
        said: [
          'MEDIUM The run that was due at 2026-11-22 11:00 (UTC) was skipped, because this run had not ended yet.',
        ],
      },
    ])
    await end(stack, pipeline)
    scheduler.set('2026-11-22T12:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toMatchObject([{}, { tick: '2026-11-22T12:00:00.000Z', said: [] }])
  })

  it('loads an uploaded file once, and again only when file, options or variables have changed', async () => {
    const { id, client } = await scheduled(stack, { type: 'CSV_UPLOAD' })
    await scheduler.plan()
    const { tick, upload } = hourly(id)
    const change = (columns: object) =>
      stack.db.updateTable('data_pipelines').set(columns).where('id', '=', id).execute()
    expect(await tick()).toEqual([])
    await upload('one')
    expect(await tick()).toHaveLength(1)
    expect(await tick()).toHaveLength(1)
    expect((await tick())[0]!.said).toEqual([
      'LOW The run that was due at 2026-11-22 12:00 (UTC) was skipped, because the file, its options and the variables have not changed since the last load.',
      'LOW The run that was due at 2026-11-22 13:00 (UTC) was skipped, because the file, its options and the variables have not changed since the last load.',
    ])
    await upload('one')
    expect(await tick()).toHaveLength(1)
    await upload('two')
    expect(await tick()).toHaveLength(2)
    await change({ settings: JSON.stringify({ csvOptions: { sheetNumber: 2 } }) })
    expect(await tick()).toHaveLength(3)
    const sqlStatements = [{ statement: 'delete from t where y = ${YEAR}' }]
    await change({ transformation: JSON.stringify({ sqlStatements }) })
    const variable = { client, name: 'YEAR', secured: false, value: '2025' }
    await stack.db.insertInto('variables').values(variable).execute()
    expect(await tick()).toHaveLength(4)
    expect(await tick()).toHaveLength(4)
    await stack.db.updateTable('variables').set({ value: '2026', version: 2 }).where('client', '=', client).execute()
    expect(await tick()).toHaveLength(5)
    expect(await tick()).toHaveLength(5)
    // A dry run has loaded nothing, and what failed is tried again.
    await stack.db.updateTable('runs').set({ action: 'DRY_RUN' }).where('runnable_id', '=', id).execute()
    expect(await tick()).toHaveLength(6)
    await stack.db.updateTable('runs').set({ state: 'FAILED' }).where('runnable_id', '=', id).execute()
    expect(await tick()).toHaveLength(7)
  })

  it.each([
    ['in the CSV options', 'YEAR', { settings: JSON.stringify({ csvOptions: { nullValues: ['${YEAR}'] } }) }],
    ['in braces with spaces', 'YEAR', statement('delete from t where y = ${ YEAR }')],
    ['with a name that JSON escapes', 'the "year" \\', statement('delete from t where y = ${the "year" \\}')],
  ])('loads an uploaded file again when a variable changes that is used %s', async (_where, name, columns) => {
    const { id, client } = await scheduled(stack, { type: 'CSV_UPLOAD' })
    await stack.db.updateTable('data_pipelines').set(columns).where('id', '=', id).execute()
    await stack.db.insertInto('variables').values({ client, name, secured: false, value: '2025' }).execute()
    await scheduler.plan()
    const { tick, upload } = hourly(id)
    await upload('one')
    expect(await tick()).toHaveLength(1)
    expect(await tick()).toHaveLength(1)
    await stack.db.updateTable('variables').set({ value: '2026', version: 2 }).where('client', '=', client).execute()
    expect(await tick()).toHaveLength(2)
    expect(await tick()).toHaveLength(2)
  })

  it('starts incremental runs, and delays a full refresh until the active update ends', async () => {
    const pipeline = await scheduled(stack, {
      run_trigger: 'EVERY_DAY_2AM',
      continuously_updated: true,
      continuous_update_interval: 10,
    })
    await scheduler.plan()
    expect(await planned(stack, pipeline)).toMatchObject({ full: '2026-11-23T02:00:00.000Z' })
    scheduler.set('2026-11-23T01:59:59Z')
    await scheduler.start()
    scheduler.set('2026-11-23T02:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toMatchObject([{ mode: 'INCREMENTAL', state: 'QUEUED' }])
    expect(await planned(stack, pipeline)).toMatchObject({ full: '2026-11-23T02:00:00.000Z' })
    await end(stack, pipeline)
    scheduler.set('2026-11-23T02:00:14Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toHaveLength(1)
    scheduler.set('2026-11-23T02:00:16Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toMatchObject([{}, { mode: 'FULL', tick: '2026-11-23T02:00:00.000Z' }])
    expect(await planned(stack, pipeline)).toMatchObject({ full: '2026-11-24T02:00:00.000Z' })
  })

  it('starts no runs for disabled organisations, and continues when they are enabled again', async () => {
    const pipeline = await scheduled(stack)
    await scheduler.plan()
    scheduler.client(pipeline.client, { disabled: true })
    scheduler.set('2026-11-22T10:00:00Z')
    await scheduler.start()
    scheduler.client(pipeline.client, { pipelinesEnabled: false })
    scheduler.set('2026-11-22T11:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toEqual([])
    scheduler.client(pipeline.client, {})
    scheduler.set('2026-11-22T12:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, pipeline)).toMatchObject([{ tick: '2026-11-22T12:00:00.000Z', said: [] }])
  })

  it('uses known time zones while identity is unavailable, and plans nothing without a known time zone', async () => {
    const known = await scheduled(stack, { run_trigger: 'EVERY_DAY_0AM' })
    scheduler.client(known.client, { timeZone: 'Asia/Tokyo' })
    await scheduler.plan()
    scheduler.identityIsThere(false)
    const more = await scheduled(stack, { run_trigger: 'EVERY_DAY_0AM' }, known.client)
    const unknown = await scheduled(stack, { run_trigger: 'EVERY_DAY_0AM' })
    await scheduler.plan()
    expect(await planned(stack, more)).toMatchObject({ zone: 'Asia/Tokyo', next: '2026-11-22T15:00:00.000Z' })
    expect(await planned(stack, unknown)).toMatchObject({ planned: false, next: undefined })
    scheduler.set('2026-11-22T15:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, known)).toHaveLength(1)
    scheduler.identityIsThere(true)
    await scheduler.plan()
    expect(await planned(stack, unknown)).toMatchObject({ planned: true, zone: 'UTC' })
  })

  it('gives each day exactly one run when the time zone of an organisation changes', async () => {
    const east = await scheduled(stack, { run_trigger: 'EVERY_DAY_0AM' })
    const west = await scheduled(stack, { run_trigger: 'EVERY_DAY_0AM' })
    scheduler.client(west.client, { timeZone: 'Europe/Oslo' })
    await scheduler.plan()
    scheduler.set('2026-11-22T23:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, west)).toHaveLength(1)
    await end(stack, west)
    scheduler.set('2026-11-22T23:30:00Z')
    scheduler.client(east.client, { timeZone: 'Europe/Oslo' })
    scheduler.client(west.client, { timeZone: 'UTC' })
    await scheduler.follow()
    expect(await planned(stack, east)).toMatchObject({ zone: 'Europe/Oslo', next: '2026-11-22T23:00:00.000Z' })
    expect(await planned(stack, west)).toMatchObject({ zone: 'UTC', next: '2026-11-24T00:00:00.000Z' })
    await scheduler.start()
    expect(await runsOf(stack, east)).toMatchObject([{ tick: '2026-11-22T23:00:00.000Z' }])
    await scheduler.follow()
    expect(await planned(stack, east)).toMatchObject({ next: '2026-11-23T23:00:00.000Z' })
  })

  it('ignores a stored schedule with an invalid cron expression, and starts the others', async () => {
    const broken = await scheduled(stack, { run_trigger: 'CUSTOM', cron_expression: 'every now and then' })
    const right = await scheduled(stack)
    await scheduler.plan()
    expect(await planned(stack, broken)).toMatchObject({ planned: true, next: undefined })
    scheduler.set('2026-11-22T10:00:00Z')
    await scheduler.start()
    expect(await runsOf(stack, right)).toHaveLength(1)
  })

  it('retries a run that could not be created, keeps its tick, and starts the others without delay', async () => {
    const stuck = await scheduled(stack)
    const others = await Promise.all(Array.from({ length: 3 }, () => scheduled(stack)))
    await scheduler.plan()
    await sql`
      create function refuse_stuck() returns trigger language plpgsql as $$
      begin if new.runnable_id = ${sql.lit(stuck.id)} then raise 'not now'; end if; return new; end $$`.execute(
      stack.db,
    )
    await sql`create trigger refuse_stuck before insert on runs for each row execute function refuse_stuck()`.execute(
      stack.db,
    )
    scheduler.set('2026-11-22T10:00:00Z')
    await scheduler.start()
    for (const other of others) expect(await runsOf(stack, other)).toHaveLength(1)
    await sql`drop function refuse_stuck() cascade`.execute(stack.db)
    scheduler.set('2026-11-22T10:00:20Z')
    await scheduler.start()
    expect(await runsOf(stack, stuck)).toMatchObject([{ tick: '2026-11-22T10:00:00.000Z', said: [] }])
  })
})
