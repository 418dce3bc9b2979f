import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from '../api/app-under-test.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

const advice =
  'No email is sent, because this service has no mail server. Ask the operator to set SMTP_URL for the API and the workers.'

let service: Service
let owner: Asking
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  const roles = (['SETTING', 'SCHEMA', 'DATA_PIPELINE'] as const).map((noun) => `ROLE_MANAGE_${noun}` as const)
  owner = service.as(await service.identity.person(id, roles))
})
afterAll(() => service?.stop())

const set = async (value: string) => (await owner.put('/settings/ALERT_EMAIL').send({ value }).expect(200)).body

describe('ALERT_EMAIL without a mail server', () => {
  it('is stored, and every response with it warns that no mail is sent', async () => {
    const answer = await set('ada@example.org')
    expect(answer).toMatchObject({ value: 'ada@example.org', warning: advice })
    expect((await owner.get('/settings/ALERT_EMAIL').expect(200)).body).toEqual(answer)
    const { body: all } = await owner.get('/settings').expect(200)
    expect(all.filter((one: { warning?: string }) => one.warning)).toEqual([answer])
    const { body: back } = await owner.put('/settings/ALERT_EMAIL').send(answer).expect(200)
    expect(back.warning).toBe(advice)
    expect(await set('')).not.toHaveProperty('warning')
  })

  it('adds one line to the log of a failed run', async () => {
    await using _worker = await spawnWorker(service.environment)
    const schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
    const failing = { transformation: { sqlStatements: [{ statement: 'select nonsense' }] } }
    const { id } = (await owner.post('/data-pipelines').send(pipelineBody(schema, failing)).expect(201)).body
    await owner.post(`/data-pipelines/${id}/file?name=a.csv`).type('text/csv').send('a\n1\n').expect(200)
    const linesOfRun = async (): Promise<string[]> => {
      const { body } = await owner.post(`/data-pipelines/${id}/run`).expect(202)
      await until(async () => {
        const { body: runs } = await owner.get(`/data-pipelines/${id}/runs`).expect(200)
        return runs[0].taskId === body.data.taskId && runs[0].finished
      })
      const { body: log } = await owner.get(`/data-pipelines/${id}/logs?taskId=${body.data.taskId}`).expect(200)
      return log
        .map(({ message }: { message: string }) => message)
        .filter((line: string) => line.includes('ALERT_EMAIL'))
    }
    await set('')
    expect(await linesOfRun()).toEqual([])
    await set('ada@example.org,grace@example.org')
    expect(await linesOfRun()).toEqual([`ALERT_EMAIL names 2 addresses. ${advice}`])
  })
})
