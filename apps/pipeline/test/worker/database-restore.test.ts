import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Client } from 'pg'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { type Pipeline, type Stack, startStack } from './worker-stack.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
let superuser: Client & AsyncDisposable
let pipeline: Pipeline
beforeAll(async () => {
  stack = await startStack()
  superuser = await connected(superuserUrl())
  pipeline = await stack.pipeline()
})
afterAll(async () => {
  await superuser?.end()
  await stack?.[Symbol.asyncDispose]()
})

const queue = async (...values: number[]) =>
  stack.run(pipeline, await stack.upload(pipeline, `a\n${values.join('\n')}\n`))

/** Has a worker run it, and answers how it ended. */
async function worked(run: { id: number }) {
  await using _worker = await spawnWorker(stack.environment)
  // Awaited here: the worker is stopped as soon as this function returns.
  return await until(async () => {
    const row = await stack.state(run)
    return row.finished_at && row
  })
}
const rows = async () => {
  await using inside = await stack.inside(pipeline.client)
  const { rows: found } = await inside.query<{ a: number }>(`select a from "${pipeline.schema}"."cases" order by a`)
  return found.map(({ a }) => a)
}

/** A database as it is now, to be put in its place again later: what a dump of it and its restoring come to. */
async function keep(name: string) {
  const copy = async (from: string, to: string) => {
    await superuser.query(`alter database ${from} allow_connections false`)
    await superuser.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [from])
    const gone = async () =>
      (await superuser.query('select from pg_stat_activity where datname = $1', [from])).rowCount === 0
    await until(gone)
    await superuser.query(`create database ${to} template ${from} strategy file_copy`)
    await superuser.query(`alter database ${from} allow_connections true`)
  }
  // Called like a test's own database it would be taken for one that somebody left.
  const kept = `kept_${name}`
  const { rows: own } = await superuser.query('select datdba, datacl::text from pg_database where datname = $1', [name])
  await copy(name, kept)
  return async () => {
    await superuser.query(`drop database ${name} with (force)`)
    await copy(kept, name)
    await superuser.query(`drop database ${kept}`)
    // What belongs to the database itself, and no copy brings along.
    await superuser.query('update pg_database set datdba = $2, datacl = $3::aclitem[] where datname = $1', [
      name,
      own[0].datdba,
      own[0].datacl,
    ])
    await until(() =>
      stack.db
        .selectFrom('runs')
        .select('id')
        .limit(1)
        .execute()
        .then(
          () => true,
          () => false,
        ),
    )
  }
}
const warehouse = async () => {
  await using inside = await stack.inside(pipeline.client)
  return (await inside.query<{ name: string }>('select current_database() as name')).rows[0]!.name
}

describe('database restore', () => {
  it('of the pipeline database to before the end of a run completes the run from the warehouse ledger', async () => {
    expect(await worked(await queue(1))).toMatchObject({ state: 'OK', rows_written: 1 })
    const run = await queue(2, 3)
    const restore = await keep(new URL(stack.environment['PIPELINE_DATABASE_URL']!).pathname.slice(1))
    expect(await worked(run)).toMatchObject({ state: 'OK', rows_written: 2, attempt: 1 })
    await restore()
    expect(await stack.state(run)).toMatchObject({ state: 'QUEUED', attempt: 0 })

    expect(await worked(run)).toMatchObject({ state: 'OK', rows_written: 2, attempt: 1 })
    const log = await stack.db.selectFrom('run_logs').select('message').where('run_id', '=', run.id).execute()
    expect(log.map(({ message }) => message)).toContain(
      'An earlier attempt has already published the rows of this run.',
    )
    expect(await rows()).toEqual([2, 3])
    expect(await worked(await queue(4))).toMatchObject({ state: 'OK', rows_written: 1 })
    expect(await rows()).toEqual([4])
  })

  it('of an older warehouse brings back its old rows, and the next run replaces them', async () => {
    expect(await worked(await queue(5))).toMatchObject({ state: 'OK' })
    const restore = await keep(await warehouse())
    const newer = await queue(6, 7)
    expect(await worked(newer)).toMatchObject({ state: 'OK' })
    await restore()
    expect(await stack.state(newer)).toMatchObject({ state: 'OK' })
    expect(await rows()).toEqual([5])
    expect(await worked(await queue(8))).toMatchObject({ state: 'OK', rows_written: 1 })
    expect(await rows()).toEqual([8])
  })
})
