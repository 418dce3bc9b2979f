import { truncate } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { sealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import { startGate } from '../api/interruptible-proxy.ts'
import { finished } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { ask, type Loaded, loadedPipelines, numbered, seen, sprung, trapped } from './pipelines-with-data.ts'

let stack: Stack
let scenes: Loaded[]
beforeAll(async () => {
  stack = await startStack()
  scenes = await loadedPipelines(stack, 3)
})
afterAll(async () => {
  for (const { client } of scenes ?? []) await client.end()
  await stack?.[Symbol.asyncDispose]()
})

const untouched = { state: 'FAILED', holds: [1], rows: 2, publications: 0, staging: 0, jobs: 0 }

describe('source failure', () => {
  it('fails the run and keeps the old rows when the file is truncated during the load', async () => {
    const scene = scenes[0]!
    await using worker = await trapped(stack, 'staging-made:stop@1')
    const run = await ask(stack, scene.pipeline, numbered(2, 1_000_000))
    await sprung(worker, 'staging-made')
    const { file } = run.input as { file: { uid: string } }
    await truncate(getUploadPath(stack.filesDirectory, file.uid), 5_000_003)
    worker.signal('SIGCONT')
    await finished(stack, run)
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject(untouched)
    expect((await stack.state(run)).message).toMatch(/old data stays|again/)
  })

  itUnless(longRunOnly)('fails the run and keeps the old rows when a source database cuts the connection', async () => {
    const scene = scenes[2]!
    const url = new URL(superuserUrl())
    const gate = await startGate(Number(url.port))
    const { uid } = await stack.db
      .selectFrom('data_pipelines')
      .select('uid')
      .where('id', '=', scene.pipeline.id)
      .executeTakeFirstOrThrow()
    const jdbcSource = {
      hostname: '127.0.0.1',
      port: gate.port,
      database: 'postgres',
      username: url.username,
      ssl: false,
    }
    const sqlQuery = `select 2 as run, g as row, 'name ' || g as name from generate_series(1, 3000000) g`
    const password = decodeURIComponent(url.password)
    const settings = JSON.stringify({ jdbcSource, sqlQuery }) as never
    const source_secrets = sealSourceSecrets(uid, { password }, keyRing(stack.environment['SECRET_KEYS']!))
    await stack.db
      .updateTable('data_pipelines')
      .set({ type: 'SQL_DATABASE_D', settings, source_secrets })
      .where('id', '=', scene.pipeline.id)
      .execute()
    await using worker = await trapped(stack, 'in-copy:stop@3', { OUTGOING_ALLOWED: '127.0.0.1' })
    const run = await stack.run(scene.pipeline)
    await sprung(worker, 'in-copy')
    await gate.shut()
    worker.signal('SIGCONT')
    await finished(stack, run)
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ ...untouched, attempt: 1 })
    expect((await stack.state(run)).error_code).toMatch(/CONNECTION/)
  })

  it('fails the run with SOURCE_SILENT when the source hangs, and the worker continues with other runs', async () => {
    const scene = scenes[1]!
    await using worker = await trapped(stack, 'in-copy:sleep:0,reading:hang@2', { SOURCE_SILENCE_SECONDS: '5' })
    const run = await ask(stack, scene.pipeline, numbered(2))
    await sprung(worker, 'reading')
    // It hangs for good: only the watch over its silence ends it.
    await finished(stack, run)
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ ...untouched, error_code: 'SOURCE_SILENT' })
    // And the worker takes runs as before.
    const next = await ask(stack, scene.pipeline, numbered(3, 3))
    expect(await finished(stack, next)).toMatchObject({ state: 'OK', rows_written: 3 })
  })
})
