import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { setTimeout as sleep } from 'node:timers/promises'
import { keyRing } from '@sluice/database'
import { sealTargetSecrets } from '../../src/destinations/push-target.ts'
import { createRun } from '../../src/runs/queue-run.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { credentials, type Dhis2StandIn, startDhis2 } from './dhis2-stand-in.ts'
import { manyValues, viewOf } from './create-view-to-push.ts'

let stack: Stack
let dhis2: Dhis2StandIn
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  dhis2 = await startDhis2()
})
afterAll(async () => {
  await dhis2?.stop()
  await stack?.[Symbol.asyncDispose]()
})

it('a push whose worker is killed after two chunks starts again and stores every value once', async () => {
  const client = crypto.randomUUID()
  const view = await viewOf(stack, client, manyValues(35_000))
  const uid = crypto.randomUUID()
  const { username, password } = credentials
  const destination = await stack.db
    .insertInto('destinations')
    .values({
      uid,
      client,
      name: 'Ministry',
      type: 'SOURCE_SYSTEM_C',
      view_id: view.id,
      disabled: false,
      run_trigger: 'NEVER',
      settings: JSON.stringify({ apiTarget: { url: dhis2.url, username } }),
      target_secrets: sealTargetSecrets(uid, { password }, keyRing(stack.environment['SECRET_KEYS']!)),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const environment = { ...stack.environment, OUTGOING_ALLOWED: '127.0.0.1' }
  // The third chunk is taken, and its answer never comes.
  dhis2.state.instead = ({ method }) =>
    method === 'POST' && dhis2.imports().length === 3 ? { taken: true, status: 200, silent: true } : undefined

  const doomed = await spawnWorker(environment)
  const request = { runnableId: destination.id, client, trigger: 'MANUAL' as const, createdBy: null, input: {} }
  const { run } = await stack.db.transaction().execute((trx) => createRun(trx, stack.queue, request))
  await until(() => dhis2.imports().length === 3)
  await sleep(1_500)
  const before = await stack.state(run)
  expect([before.state, before.rows_read >= 20_000, dhis2.stored.size]).toEqual(['RUNNING', true, 30_000])
  doomed.signal('SIGKILL')
  await doomed.ended

  await using _rescue = await spawnWorker(environment)
  const after = await until(async () => {
    const state = await stack.state(run)
    return state.finished_at && state
  })
  expect(after).toMatchObject({ state: 'OK', attempt: 2, rows_written: 35_000, rows_read: 35_000, rows_rejected: 0 })
  expect(after.message).toContain('5,000 imported, 30,000 updated')
  expect(dhis2.stored.size).toBe(35_000)
})
