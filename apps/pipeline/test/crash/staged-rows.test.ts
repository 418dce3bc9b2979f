import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { sql } from 'kysely'
import type { Failpoint } from '@sluice/process'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { createRun } from '../../src/runs/queue-run.ts'
import { sweepStaging } from '../../src/worker/maintenance/maintain-warehouses.ts'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import { sealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { finished, stagingTables } from '../worker/large-load.ts'
import { type Pipeline, type Stack, startStack } from '../worker/worker-stack.ts'
import { type WorkerProcess, spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import { kobotoolbox } from '@sluice/connectors/testing/kobotoolbox-stand-in'
import type { StandIn } from '@sluice/connectors/testing/connector-fixture'
import { watchOver } from './random/kill-at-random.ts'
import {
  type Loaded,
  ask,
  loadedPipelines,
  logOf,
  numbered,
  seen,
  silentForLong,
  sprung,
  trapped,
} from './pipelines-with-data.ts'

type Run = Awaited<ReturnType<typeof ask>>

let stack: Stack
let scene: Loaded
/** The number in all rows of the last published run. */
let last = 1
let watch: AsyncDisposable
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  watch = await watchOver(stack)
  scene = (await loadedPipelines(stack, 1))[0]!
})
afterAll(async () => {
  await scene?.client.end()
  await watch?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

const adopted = 'They are published without reading the source again.'
const otherWorker = () => spawnWorker({ ...stack.environment, LOG_LEVEL: 'debug' })

/** Nothing can read the file of the run again. */
async function removeFile({ input }: Run): Promise<void> {
  const { file } = input as { file: { uid: string } }
  await rm(getUploadPath(stack.filesDirectory, file.uid))
}

/** A run whose worker was killed, and which the queue gives to the next worker. */
async function killedAt(point: Failpoint, content: string): Promise<Run> {
  await using worker = await trapped(stack, `${point}:exit`)
  const run = await ask(stack, scene.pipeline, content)
  await worker.ended
  expect(worker.output()).toContain(`failpoint ${point}: exit`)
  await silentForLong(stack, run)
  return run
}

async function change(values: { transformation?: object; schema_changes?: string; settings?: object }): Promise<void> {
  const { transformation, settings, ...plain } = values
  await stack.db
    .updateTable('data_pipelines')
    .set({
      ...plain,
      ...(transformation && { transformation: JSON.stringify(transformation) as never }),
      ...(settings && { settings: JSON.stringify(settings) as never }),
    })
    .where('id', '=', scene.pipeline.id)
    .execute()
}

/** Waits for the end of a run, and returns what has to agree then. */
async function endOf(run: Run) {
  await finished(stack, run)
  await until(async () => (await seen(stack, scene, run)).jobs === 0)
  return seen(stack, scene, run)
}

/** What a run leaves that a second attempt published. */
const publishedByRetry = (number: number, rows: number) => ({
  state: 'OK',
  attempt: 2,
  rows_written: rows,
  holds: [number],
  rows,
  publications: 1,
  staging: 0,
})

/** Tests of the same law at another place. */
const itInLongRun = itUnless(isLongRun ? undefined : longRunOnly)

const hasLost = (worker: WorkerProcess) => until(() => worker.output().includes('"ending":"LOST"'))

describe('staged rows of a worker that is killed before publication', () => {
  it('are published by the next attempt without reading the source', async () => {
    const run = await killedAt('rows-staged', numbered((last = 2), 300))
    await removeFile(run)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'RUNNING', holds: [1], staging: 1 })
    // The setting applies to failed runs and changes no row of the source.
    const { client } = scene.pipeline
    const setting = { client, key: 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES', value: 'RETAIN' }
    await stack.db.insertInto('settings').values(setting).execute()
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject(publishedByRetry(2, 300))
    await stack.db.deleteFrom('settings').where('client', '=', client).execute()
    expect(await logOf(stack, run)).toContain(`Attempt 1 staged all rows. ${adopted}`)
    await sweepStaging(stack).run(never)
    const left = await stack.db.selectFrom('staged_loads').select('run_id').where('run_id', '=', run.id).execute()
    expect(left).toEqual([])
  })

  itInLongRun('are published by the third attempt when the second is killed as well', async () => {
    const run = await killedAt('rows-staged', numbered((last = 3), 300))
    await removeFile(run)
    {
      await using second = await trapped(stack, 'before-swap:exit')
      await second.ended
      await silentForLong(stack, run)
    }
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject({ ...publishedByRetry(3, 300), attempt: 3 })
  })

  itInLongRun('keep rejected rows and the status, and the transformation is not run again', async () => {
    await change({ transformation: { sqlStatements: [{ statement: 'update cases set row = row + 1' }] } })
    const run = await killedAt('rows-staged', `${numbered((last = 4), 300)}4,1,a,b,c\n`)
    await removeFile(run)
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject({ ...publishedByRetry(4, 300), state: 'WARNING' })
    expect(await stack.state(run)).toMatchObject({ rows_rejected: 1, message: expect.stringContaining('1') })
    const rejected = await stack.db.selectFrom('rejected_rows').select('line').where('run_id', '=', run.id).execute()
    expect(rejected).toEqual([{ line: 302 }])
    const { schema, table } = scene.pipeline
    const { rows } = await scene.client.query(
      `select min(row)::int as low, max(row)::int as high from ${schema}.${table}`,
    )
    expect(rows).toEqual([{ low: 1, high: 300 }])
    await change({ transformation: {} })
  })

  itInLongRun('are not reused when the worker is killed before it has recorded that all rows are staged', async () => {
    const run = await killedAt('copied', numbered((last = 5), 300))
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject(publishedByRetry(5, 300))
    expect(await logOf(stack, run)).not.toContain(adopted)
  })

  itInLongRun('are dropped when the run is cancelled', async () => {
    const run = await killedAt('rows-staged', numbered(6, 300))
    await stack.db.transaction().execute((trx) => cancelRun(trx, stack.queue, scene.pipeline.id))
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject({ state: 'CANCELLED', attempt: 1, holds: [last], publications: 0 })
    await sweepStaging(stack).run(never)
    expect(await stagingTables(scene.client, run)).toBe(0)
  })
})

describe('staged rows are not published and the source is read again if, between two attempts,', () => {
  const changes: [what: string, happens: () => Promise<unknown>][] = [
    ['the settings change', () => change({ settings: { csvOptions: { delimiter: ',' } } })],
    ['the transformation changes', () => change({ transformation: { sqlStatements: [{ statement: 'select 1' }] } })],
    [
      'a variable changes',
      () =>
        stack.db
          .insertInto('variables')
          .values({ client: scene.pipeline.client, name: 'country', value: 'KE', secured: false })
          .execute(),
    ],
    [
      'the input of the run changes',
      () => sql`update runs set input = input || '{"more": 1}' where state = 'RUNNING'`.execute(stack.db),
    ],
    [
      'the target table is dropped',
      () => scene.client.query(`drop table ${scene.pipeline.schema}.${scene.pipeline.table}`),
    ],
  ]

  it.each(isLongRun ? changes : changes.slice(1, 2))('%s', async (_what, happens) => {
    const run = await killedAt('rows-staged', numbered((last += 1), 300))
    await happens()
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject(publishedByRetry(last, 300))
    expect(await logOf(stack, run)).toContain('The source is read again, because')
  })

  itInLongRun('the staged rows change', async () => {
    const run = await killedAt('rows-staged', numbered((last += 1), 300))
    const { rows } = await scene.client.query(`select relname from pg_class where relname like 'run\\_${run.uid}\\_%'`)
    await scene.client.query(`delete from sluice."${rows[0].relname}" where row < 10`)
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject(publishedByRetry(last, 300))
    expect(await logOf(stack, run)).not.toContain(adopted)
  })
})

describe('staged rows of a worker that is not killed', () => {
  itInLongRun('are published by the next attempt if the warehouse ends the connection during publication', async () => {
    await using worker = await trapped(stack, 'in-publication:stop@1')
    const run = await ask(stack, scene.pipeline, numbered((last += 1), 300))
    await sprung(worker, 'in-publication')
    await removeFile(run)
    await scene.client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'sluice'`,
    )
    worker.signal('SIGCONT')
    expect(await endOf(run)).toMatchObject(publishedByRetry(last, 300))
    expect(await logOf(stack, run)).toContain(adopted)
  })

  itInLongRun('are published by another worker if the first is stopped while it waits for a reader', async () => {
    const { schema, table } = scene.pipeline
    await using reader = await stack.inside(scene.pipeline.client)
    await reader.query(`begin; lock table ${schema}.${table} in access share mode`)
    const run = await (async () => {
      await using worker = await trapped(stack, 'before-swap:sleep:0')
      const asked = await ask(stack, scene.pipeline, numbered((last += 1), 300))
      await until(async () => (await logOf(stack, asked)).includes('waits for queries that read it'))
      worker.signal('SIGTERM')
      expect(await worker.ended).toBe(0)
      return asked
    })()
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'QUEUED', handed_back: 1, staging: 1 })
    await removeFile(run)
    await reader.query('commit')
    await using _other = await otherWorker()
    expect(await endOf(run)).toMatchObject(publishedByRetry(last, 300))
  })

  const points: Failpoint[] = ['in-publication', 'rows-staged', 'before-swap']

  it.each(isLongRun ? points : points.slice(0, 1))(
    'are not changed by a worker that is suspended (%s) and resumes after another worker published them',
    async (point) => {
      await using stopped = await trapped(stack, `${point}:stop@1`)
      const run = await ask(stack, scene.pipeline, numbered((last += 1), 300))
      await sprung(stopped, point)
      await silentForLong(stack, run)
      await removeFile(run)
      await using _other = await otherWorker()
      const after = await endOf(run)
      expect(after).toMatchObject(publishedByRetry(last, 300))
      stopped.signal('SIGCONT')
      await hasLost(stopped)
      expect(await seen(stack, scene, run)).toEqual(after)
    },
  )

  itInLongRun('are not changed by a suspended worker that resumes before another worker publishes them', async () => {
    await using stopped = await trapped(stack, 'rows-staged:stop@1')
    const run = await ask(stack, scene.pipeline, numbered((last += 1), 300))
    await sprung(stopped, 'rows-staged')
    await silentForLong(stack, run)
    await removeFile(run)
    await using other = await trapped(stack, 'before-swap:stop@1')
    await sprung(other, 'before-swap')
    stopped.signal('SIGCONT')
    await hasLost(stopped)
    expect(await seen(stack, scene, run)).toMatchObject({ holds: [last - 1], publications: 0, staging: 1 })
    other.signal('SIGCONT')
    expect(await endOf(run)).toMatchObject(publishedByRetry(last, 300))
  })
})

describe('staged rows of a source that is read over HTTP', () => {
  let standIn: StandIn
  let pipeline: Pipeline
  beforeAll(async () => {
    standIn = await kobotoolbox.start()
    pipeline = await stack.pipeline(scene.pipeline.client)
    const row = await stack.db
      .selectFrom('data_pipelines')
      .select('uid')
      .where('id', '=', pipeline.id)
      .executeTakeFirstOrThrow()
    const { type, ...settings } = standIn.settings as { type: string }
    const ring = keyRing(stack.environment['SECRET_KEYS']!)
    await stack.db
      .updateTable('data_pipelines')
      .set({
        type,
        settings: JSON.stringify({ type, ...settings }),
        source_secrets: sealSourceSecrets(row.uid, standIn.secrets, ring),
      })
      .where('id', '=', pipeline.id)
      .execute()
  })
  afterAll(() => standIn?.server[Symbol.asyncDispose]())

  const outgoing = { OUTGOING_ALLOWED: '127.0.0.1' }
  const people = async () => {
    const { schema, table } = pipeline
    const { rows } = await scene.client.query(
      `select _id::int as id, array(select called from ${schema}.${table}__child where _parent_row_id::text = p._id::text order by 1) as children
       from ${schema}.${table} as p order by 1`,
    )
    return rows
  }
  const modes = async ({ uid }: Run) =>
    (await scene.client.query(`select distinct mode from sluice.ledger_table where run = $1`, [uid])).rows

  const ann = { id: 1, children: ['Ann', 'Ben'] }
  const cid = { id: 2, children: ['Cid'] }

  const modesOfLoads = [
    ['FULL', ann, 'REPLACE', [ann]],
    ['INCREMENTAL', cid, 'MERGE', [ann, cid]],
  ] as const
  it.each(isLongRun ? modesOfLoads : modesOfLoads.slice(0, 1))(
    'are published in mode %s, with child tables, without a request to the source',
    async (mode, person, how, all) => {
      standIn.people.put({ ...person })
      const { id, client } = pipeline
      const request = { runnableId: id, client, mode, trigger: 'MANUAL' as const, createdBy: null, input: {} }
      let run: Run
      {
        await using worker = await trapped(stack, 'rows-staged:exit', outgoing)
        run = (await stack.db.transaction().execute((trx) => createRun(trx, stack.queue, request))).run
        await worker.ended
        await silentForLong(stack, run)
      }
      standIn.server.requests.length = 0
      await using _other = await spawnWorker({ ...stack.environment, ...outgoing })
      expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2 })
      expect(standIn.server.requests).toEqual([])
      expect([await people(), await modes(run)]).toEqual([all, [{ mode: how }]])
    },
  )
})
