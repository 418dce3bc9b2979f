import { randomUUID } from 'node:crypto'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger, createMetrics, Redaction } from '@sluice/process'
import { sql } from 'kysely'
import { claimRun } from '../../src/runs/claim-run.ts'
import { finishRun } from '../../src/run-lifecycle/finish-run.ts'
import { openRunLog } from '../../src/runs/run-log.ts'
import type { RunAction } from '../../src/runs/runnable-kinds.ts'
import { deleteOldRuns, maintainPartitions } from '../../src/worker/maintenance/delete-old-runs.ts'
import { queueMissingRuns } from '../../src/worker/maintenance/queue-missing-runs.ts'
import { removeFiles } from '../../src/worker/maintenance/remove-unused-files.ts'
import { sweepStaging } from '../../src/worker/maintenance/maintain-warehouses.ts'
import { withMaintenanceLock, startMaintenance } from '../../src/worker/maintenance/maintenance.ts'
import { workerMetrics } from '../../src/worker/metrics.ts'
import { getUploadPath, getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'
import { columns, never } from '@sluice/warehouses/testing/row-fixtures'
import { stagingTables } from './large-load.ts'
import { type Pipeline, startStack, type Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })

async function ended(pipeline: Pipeline, state: 'OK' | 'FAILED', daysAgo: number, action: RunAction = 'RUN') {
  const run = await stack.run(pipeline)
  await stack.db.updateTable('runs').set({ action }).where('id', '=', run.id).execute()
  const claim = (await claimRun(stack.db, run.uid))!
  await using log = await openRunLog(stack.db, claim, new Redaction())
  log.write('INFO', 'LOW', 'a line')
  const failed = { state: 'FAILED', code: 'X', message: '' } as const
  const ok = { state: 'OK', message: '', rowsWritten: 1, bytesWritten: 1, rowsRejected: 0 } as const
  await finishRun(stack, claim, state === 'OK' ? ok : failed)
  const finished = sql<Date>`now() - make_interval(days => ${daysAgo}::int)`
  await stack.db.updateTable('runs').set({ finished_at: finished }).where('id', '=', run.id).execute()
  return run.id
}

describe('maintenance jobs', () => {
  it('run in one process at a time, and continue when one fails', async () => {
    const done: string[] = []
    const job = (name: string, act: () => void) => ({ name, run: async () => (act(), done.push(name)) })
    const jobs = [
      job('broken', () => {
        throw new Error('broken')
      }),
      job('whole', () => {}),
    ]
    const metrics = workerMetrics(createMetrics('test'))
    const maintenance = startMaintenance({ db: stack.db, jobs, logger, metrics, intervalMs: 20 })
    await until(() => done.length > 2)
    await maintenance.stop()
    expect(new Set(done)).toEqual(new Set(['whole']))
    let second: boolean | undefined
    await withMaintenanceLock(stack.db, async () => {
      second = await withMaintenanceLock(stack.db, async () => {})
    })
    expect(second).toBe(false)
    expect(await withMaintenanceLock(stack.db, async () => {})).toBe(true)
  })

  it('requeue only runs that are missing in the queue', async () => {
    const forgotten = await stack.run(await stack.pipeline())
    const running = await stack.run(await stack.pipeline())
    const waiting = await stack.run(await stack.pipeline())
    const young = await stack.run(await stack.pipeline())
    await claimRun(stack.db, running.uid)
    await sql`update runs set created_at = now() - interval '5 minutes' where id <> ${young.id}`.execute(stack.db)
    await sql`delete from pgboss.job where singleton_key <> ${waiting.uid}`.execute(stack.db)
    const job = queueMissingRuns(stack)
    expect(await job.run(never)).toBe(1)
    await sql`update runs set heartbeat_at = now() - interval '5 minutes' where id = ${running.id}`.execute(stack.db)
    expect(await job.run(never)).toBe(1)
    expect(await job.run(never)).toBe(0)
    const { rows } = await sql<{ key: string }>`select singleton_key as key from pgboss.job`.execute(stack.db)
    expect(rows.map(({ key }) => key).toSorted()).toEqual([forgotten.uid, running.uid, waiting.uid].toSorted())
  })

  it('remove old uploaded files that no pipeline and no active run refers to', async () => {
    const folder = getUploadsDirectory(stack.filesDirectory)
    const pipeline = await stack.pipeline()
    const old = new Date(Date.now() - 2 * 3_600_000)
    const place = async (name: string, time: Date) => {
      await writeFile(join(folder, name), 'x')
      await utimes(join(folder, name), time, time)
      return name
    }
    const input = (await stack.upload(pipeline, 'read by a run')) as { file: { uid: string } }
    await stack.run(pipeline, input)
    const current = (await stack.upload(pipeline, 'current')) as { file: { uid: string } }
    for (const { file } of [input, current]) await utimes(getUploadPath(stack.filesDirectory, file.uid), old, old)
    const young = await place(randomUUID(), new Date())
    const stranger = await place('README.txt', old)
    await place(randomUUID(), old)
    await place(`${randomUUID()}.partial`, old)
    expect(await removeFiles(stack).run(never)).toBe(2)
    expect((await readdir(folder)).toSorted()).toEqual([input.file.uid, current.file.uid, young, stranger].toSorted())
    expect(await removeFiles({ db: stack.db, filesDirectory: '/nowhere' }).run(never)).toBe(0)
  })

  it('delete old runs except the last run and the last successful run of a pipeline', async () => {
    const pipeline = await stack.pipeline()
    await ended(pipeline, 'OK', 120)
    const success = await ended(pipeline, 'OK', 110)
    await ended(pipeline, 'FAILED', 100)
    const last = await ended(pipeline, 'FAILED', 95)
    const other = await stack.pipeline()
    const recent = [await ended(other, 'FAILED', 10), await ended(other, 'OK', 1)]
    await deleteOldRuns({ db: stack.db, days: 90 }).run(never)
    const kept = await stack.db
      .selectFrom('runs')
      .select('id')
      .where('runnable_id', 'in', [pipeline.id, other.id])
      .execute()
    expect(kept.map(({ id }) => id).toSorted()).toEqual([success, last, ...recent].toSorted())
    const logs = await stack.db
      .selectFrom('run_logs')
      .select('run_id')
      .where('run_id', 'in', [success, last, ...recent])
      .execute()
    expect(logs.map(({ run_id }) => run_id).toSorted()).toEqual(recent.toSorted())
  })

  it('keep the last successful load when a restore is newer', async () => {
    const pipeline = await stack.pipeline()
    await ended(pipeline, 'OK', 110)
    const load = await ended(pipeline, 'OK', 100)
    await ended(pipeline, 'OK', 99, 'RESTORE')
    const restore = await ended(pipeline, 'OK', 98, 'RESTORE')
    await deleteOldRuns({ db: stack.db, days: 90 }).run(never)
    const kept = await stack.db.selectFrom('runs').select('id').where('runnable_id', '=', pipeline.id).execute()
    expect(new Set(kept.map(({ id }) => id))).toEqual(new Set([load, restore]))
  })

  it('drop the staging tables of finished and unknown runs', async () => {
    const pipeline = await stack.pipeline()
    const run = await stack.run(pipeline)
    const warehouse = await stack.warehouses.open(pipeline.client)
    await warehouse.catalog.ensureSchema(pipeline.schema)
    const target = { ...pipeline, columns: columns({ id: 'INTEGER' }), attempt: 1 }
    for (const uid of [run.uid, randomUUID()]) await warehouse.loader.stage({ ...target, run: uid }, never)
    await using client = await stack.inside(pipeline.client)
    const job = sweepStaging(stack)
    expect(await job.run(never)).toBe(1)
    expect(await stagingTables(client)).toBe(1)
    await finishRun(stack, (await claimRun(stack.db, run.uid))!, { state: 'FAILED', code: 'X', message: '' })
    expect(await job.run(never)).toBe(1)
    expect(await stagingTables(client)).toBe(0)
  })

  it('create the audit partitions of coming months in advance', async () => {
    const now = () => new Date('2031-11-30T23:30:00Z')
    const entry = { at: new Date('2031-11-02T00:00:00Z'), operation: 'x', request_id: '', address: '', details: '{}' }
    await stack.db.insertInto('audit').values(entry).execute()
    const job = maintainPartitions({ db: stack.db, days: 90, now })
    expect(await job.run(never)).toBe(2 + 3)
    expect(await job.run(never)).toBe(0)
    await stack.db
      .insertInto('audit')
      .values({ ...entry, at: new Date('2031-12-31T23:59:59Z') })
      .execute()
    const { rows } = await sql<{
      place: string
    }>`select tableoid::regclass::text as place from audit order by at`.execute(stack.db)
    expect(rows.map(({ place }) => place)).toEqual(['audit_default', 'audit_2031_12'])
  })

  it('drop log partitions that are older than the retention period', async () => {
    const months = async () =>
      (
        await sql<{ name: string }>`select inhrelid::regclass::text as name from pg_inherits
          where inhparent = 'run_logs'::regclass order by 1`.execute(stack.db)
      ).rows.map(({ name }) => name)
    await maintainPartitions({ db: stack.db, days: 30, now: () => new Date('2033-01-15') }).run(never)
    const later = maintainPartitions({ db: stack.db, days: 30, now: () => new Date('2033-03-05T12:00:00Z') })
    expect(await months()).toContain('run_logs_2033_01')
    await later.run(never)
    expect(await months()).not.toContain('run_logs_2033_01')
    expect(await months()).toContain('run_logs_2033_02')
  })
})
