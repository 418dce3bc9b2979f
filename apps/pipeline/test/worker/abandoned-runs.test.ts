import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { serviceClient } from '@sluice/client'
import { identityOperations } from '@sluice/contracts'
import { startService, type Service } from '../api/app-under-test.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

const queued = async (client: string) => {
  const pipeline = await service.stack.pipeline(client)
  return service.stack.run(pipeline, await service.stack.upload(pipeline, 'a\n1\n'))
}
const ended = (run: { id: number }) =>
  until(async () => {
    const row = await service.stack.state(run)
    return row.finished_at && row
  })

describe('message of an abandoned run: what happened, what happened to the data, and what to do', () => {
  it('if data pipelines were disabled for the organisation after the run was queued', async () => {
    const { identity } = service
    const client = await identity.client()
    const admin = await identity.person(client.id, ['ROLE_SUPER_ADMIN'])
    const run = await queued(client.id)
    await serviceClient({ baseUrl: identity.url, token: () => admin.token }).call(identityOperations.clients.update, {
      params: { uid: client.id },
      body: { ...client, pipelinesEnabled: false },
    })
    await using _worker = await spawnWorker(service.environment)
    expect(await ended(run)).toMatchObject({
      state: 'FAILED',
      error_code: 'CLIENT_DISABLED',
      message:
        'The run was not started, because this organisation is disabled or its data pipelines are switched off. The old data stays. Ask a super admin to change “disabled” or “pipelinesEnabled” of the organisation, then run again.',
    })
  })

  it('if the worker crashed in each of five attempts', async () => {
    const run = await queued((await service.identity.client()).id)
    await service.stack.db.updateTable('runs').set({ attempt: 5 }).where('id', '=', run.id).execute()
    await using _worker = await spawnWorker(service.environment)
    const { state, error_code, message } = await ended(run)
    expect([state, error_code]).toEqual(['FAILED', 'TOO_MANY_ATTEMPTS'])
    expect(message).toMatch(
      /^The run has failed, because the worker crashed in each of 5 attempts\. .* check the logs, .* run again\.$/,
    )
  })
})
