import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { startSmtp } from '@sluice/testing/smtp'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { selfSigned } from '@sluice/connectors/testing/certificate'
import { credentials, type Dhis2StandIn, startDhis2, token } from '../dhis2/dhis2-stand-in.ts'
import { type PushedView, viewOf } from '../dhis2/create-view-to-push.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { freePort } from '@sluice/testing/free-port'
import { startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let dhis2: Dhis2StandIn
let owner: Asking
let colleague: Asking
let view: PushedView

const mixed = `
  select * from (values
    ('f7n9E0hX8qk', '202601', 'unit1', 5.5), ('f7n9E0hX8qk', '202601', 'missing1', 6), ('f7n9E0hX8qk', '202601', 'unit3', null)
  ) as t (data_element, period, org_unit, value)`

beforeAll(async () => {
  service = await startService()
  dhis2 = await startDhis2()
  const { identity } = service
  const { id } = await identity.client()
  const roles = ['ROLE_MANAGE_DESTINATION', 'ROLE_SEE_VIEW', 'ROLE_SEE_SCHEMA'] as const
  owner = service.as(await identity.person(id, [...roles]))
  colleague = service.as(await identity.person(id, ['ROLE_MANAGE_DESTINATION']))
  view = await viewOf(service.stack, id, mixed)
})
afterAll(async () => {
  await dhis2?.stop()
  await service?.stop()
})

let count = 0
const body = (changes: object = {}) => ({
  name: `Destination ${(count += 1)}`,
  disabled: false,
  runTrigger: 'NEVER',
  viewSource: { id: view.uid },
  apiTarget: { url: dhis2.url, ...credentials },
  ...changes,
})
const create = async (changes: object = {}) => (await owner.post('/destinations').send(body(changes)).expect(201)).body
const problemOf = async (changes: object, by = owner) => {
  const { body: problem } = await by.post('/destinations').send(body(changes)).expect(422)
  return problem.errors[0] as { pointer: string; detail: string }
}
const stored = (uid: string) =>
  service.stack.db.selectFrom('destinations').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()

describe('an invalid address', () => {
  const wrong = ['https://127.0.0.1%2f.x', 'https://%zz.example.org', 'https://[::1', 'https://exa mple.org']
  it.each(wrong)('is refused by connection tests, look-ups and creation: %s', async (url) => {
    const made = await create()
    const target = { url, ...credentials }
    const answers = [
      await owner.post('/destinations/test-connection').send(target),
      await owner.post(`/destinations/${made.id}/test-connection`).send(target),
      await owner.post(`/destinations/${made.id}/lookups/data-sets`).send(target),
      await owner.post('/destinations').send(body({ apiTarget: target })),
    ].map(({ status }) => status)
    expect(answers).toEqual([422, 422, 422, 422])
  })
})

describe('a destination', () => {
  it('cannot be moved to another address by a user who may not read its view', async () => {
    const made = await create({ access: { publicAccess: 'READ_WRITE', userAccess: [], userGroupAccess: [] } })
    const { id: _id, ...whole } = (await colleague.get(`/destinations/${made.id}`).expect(200)).body
    const put = (apiTarget: object) => colleague.put(`/destinations/${made.id}`).send({ ...whole, apiTarget })
    await put({ url: dhis2.url, username: credentials.username }).expect(200)
    const { body: refused } = await put({ url: 'https://elsewhere.example.org', ...credentials }).expect(422)
    expect(refused.errors[0].pointer).toBe('/viewSource/id')
  })

  it('returns its settings, and the query of the view only to users who may read it, but no secret', async () => {
    const importOptions = { dataElementIdScheme: 'CODE', idScheme: 'attribute:DnrLSdo4hMl', dryRun: true }
    const made = await create({ importOptions, description: 'To the ministry', runTrigger: 'EVERY_DAY_2AM' })
    expect(made).toMatchObject({
      type: 'SOURCE_SYSTEM_C',
      apiTarget: { url: dhis2.url, username: credentials.username },
      importOptions,
      scheduleable: true,
      triggerExpression: expect.stringContaining('0 2'),
      status: { lastRunStatus: 'NEVER_RUN' },
      viewSource: { id: view.uid, name: view.name, query: mixed },
      displayDescription: 'To the ministry',
    })
    expect(JSON.stringify(made)).not.toContain(credentials.password)
    const row = await stored(made.id)
    expect(JSON.stringify(row)).not.toContain(credentials.password)
    expect(row.target_secrets).toEqual(expect.any(String))

    await owner
      .put(`/destinations/${made.id}/access`)
      .send({ publicAccess: 'READ', userAccess: [], userGroupAccess: [] })
      .expect(200)
    const { body: seen } = await colleague.get(`/destinations/${made.id}`).expect(200)
    expect(seen.viewSource).toEqual({ id: view.uid, name: view.name })
    const { body: found } = await owner.post('/destinations/search').send({ query: 'ministry', paging: {} }).expect(200)
    expect(found.map(({ id }: { id: string }) => id)).toEqual([made.id])
  })

  it('keeps its password in PUT without one, removes it if it is empty, and refuses to send it to a new address', async () => {
    const made = await create()
    const { target_secrets: before } = await stored(made.id)
    const put = (changes: object) => owner.put(`/destinations/${made.id}`).send({ ...made, ...changes })
    await put({ description: 'again' }).expect(200)
    expect(
      (await owner.post(`/destinations/${made.id}/test-connection`).send({ url: dhis2.url }).expect(200)).body.status,
    ).toBe('OK')
    await put({
      apiTarget: { url: `${dhis2.url}/api/`, username: 'importer' },
    }).expect(200)

    const { body: moved } = await put({
      apiTarget: { url: 'https://elsewhere.example.org', username: 'importer' },
    }).expect(422)
    expect(moved.errors).toEqual([
      {
        pointer: '/apiTarget/password',
        detail: expect.stringContaining('The stored password belongs to the old address'),
      },
    ])
    await put({ apiTarget: { url: dhis2.url, username: 'importer', password: null } }).expect(200)
    expect((await stored(made.id)).target_secrets).not.toBeNull()
    await put({ apiTarget: { url: dhis2.url, username: 'importer', password: '' } }).expect(200)
    expect([before === null, (await stored(made.id)).target_secrets]).toEqual([false, null])
    const bare = { apiTarget: undefined, apiTokenTarget: { url: dhis2.url, authToken: token } }
    const { body: tokened } = await put(bare).expect(200)
    const secretStatus = { authToken: { set: true, changedAt: expect.any(String) } }
    expect([tokened.apiTarget, tokened.apiTokenTarget]).toEqual([undefined, { url: dhis2.url, secretStatus }])
  })

  it('is refused without exactly one valid target, a readable view, a valid schedule and a unique name', async () => {
    expect(await problemOf({ apiTarget: undefined })).toMatchObject({ pointer: '/apiTarget' })
    expect(await problemOf({ apiTokenTarget: { url: dhis2.url } })).toMatchObject({ pointer: '/apiTokenTarget' })
    for (const url of ['https://a:b@dhis2.example.org', 'https://dhis2.example.org/?a=1', 'http:// /'])
      expect(await problemOf({ apiTarget: { url } })).toMatchObject({ pointer: '/apiTarget/url' })
    expect(await problemOf({}, colleague)).toMatchObject({ pointer: '/viewSource/id' })
    expect(await problemOf({ viewSource: { id: crypto.randomUUID() } })).toMatchObject({ pointer: '/viewSource/id' })
    expect(await problemOf({ runTrigger: 'CUSTOM' })).toMatchObject({ pointer: '/cronExpression' })
    const wrong = { importOptions: { idScheme: 'whatever' } }
    await owner.post('/destinations').send(body(wrong)).expect(400)
    const { name } = await create()
    await owner.post('/destinations').send(body({ name })).expect(409)
  })
})

describe('a connection test of a target', () => {
  const test = async (target: object) =>
    (await owner.post('/destinations/test-connection').send(target).expect(200)).body

  it('returns the version and the user on success, by password and by token', async () => {
    expect(await test({ url: dhis2.url, ...credentials })).toEqual({
      status: 'OK',
      httpStatus: '200 OK',
      httpStatusCode: 200,
      statusCode: 200,
      errorCode: 'OK',
      message: `DHIS2 2.41.3 answers at 127.0.0.1:${dhis2.port} and accepts the user "importer".`,
      messageKey: 'destination.ok',
      data: { version: '2.41.3', username: 'importer' },
    })
    expect(await test({ url: `${dhis2.url}/api`, authToken: token })).toMatchObject({ status: 'OK' })
  })

  it('returns status 200 with an error code and a message for each kind of failure', async () => {
    const secure = createServer(selfSigned()!, (_request, response) => response.end('{}'))
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    await using _stopped = { [Symbol.asyncDispose]: async () => void secure.close() }
    const { port } = secure.address() as AddressInfo
    const wrong = { ...credentials, password: 'wrong-password' }
    const cases: [object, string, RegExp][] = [
      [{ url: dhis2.url, ...wrong }, 'AUTHENTICATION_FAILED', /rejected the username and password/],
      [{ url: dhis2.url, authToken: 'd2pat_expired' }, 'AUTHENTICATION_FAILED', /token/],
      [{ url: dhis2.url.replace('/dhis', ''), ...credentials }, 'NOT_FOUND', /Check the path/],
      [
        { url: `http://127.0.0.1:${await freePort()}`, ...credentials },
        'CONNECTION_REFUSED',
        /Nothing accepts connections/,
      ],
      [{ url: 'https://no.such.host.invalid', ...credentials }, 'HOST_UNKNOWN', /does not exist/],
      [{ url: 'http://169.254.169.254/latest', ...credentials }, 'ADDRESS_NOT_ALLOWED', /link-local/],
      [{ url: 'https://10.1.2.3', ...credentials }, 'ADDRESS_NOT_ALLOWED', /private/],
      [{ url: `https://127.0.0.1:${port}`, ...credentials }, 'CERTIFICATE_NOT_TRUSTED', /certificate/],
      [{ url: dhis2.url }, 'CREDENTIALS_MISSING', /username and password, or a token/],
    ]
    for (const [target, errorCode, message] of cases) {
      const answer = await test(target)
      expect(answer.messageKey).toBe(`destination.${errorCode.toLowerCase().replaceAll('_', '-')}`)
      if (errorCode === 'CONNECTION_REFUSED') expect(answer.devMessage).toContain('OutgoingProblem: ')
      expect(answer).toMatchObject({ status: 'ERROR', errorCode, message: expect.stringMatching(message) })
      expect(JSON.stringify(answer)).not.toContain('wrong-password')
    }

    dhis2.state.instead = () => ({ status: 200, body: { hello: 'world' } })
    expect(await test({ url: dhis2.url, ...credentials })).toMatchObject({ errorCode: 'OTHER_PROTOCOL' })
    dhis2.state.instead = undefined
    dhis2.state.authorities = []
    expect(await test({ url: dhis2.url, ...credentials })).toMatchObject({
      status: 'WARNING',
      errorCode: 'PERMISSION_DENIED',
    })
    dhis2.state.authorities = ['ALL']
    await owner
      .post('/destinations/test-connection')
      .send({ url: dhis2.url, username: 'a', authToken: 'b' })
      .expect(422)
  })

  it('does not send the stored password to another address', async () => {
    const { id } = await create()
    const { body: problem } = await owner
      .post(`/destinations/${id}/test-connection`)
      .send({ url: 'http://127.0.0.1:2' })
      .expect(422)
    expect(problem.errors[0].pointer).toBe('/password')
    await colleague.post(`/destinations/${id}/test-connection`).send({ url: dhis2.url }).expect(404)
  })
})

describe('a look-up of a destination', () => {
  it('lists the matching objects of the target, and reports the target’s error', async () => {
    const { id } = await create()
    const look = (kind: string, query: object = {}) => owner.post(`/destinations/${id}/lookups/${kind}`).send(query)
    expect((await look('data-elements', { query: 'anc' }).expect(200)).body).toEqual([
      { id: 'f7n9E0hX8qk', code: 'DE_ANC1', name: 'ANC 1st visit' },
      { id: 'fbfJHSPpUQD', code: 'DE_ANC2', name: 'ANC 2nd visit' },
    ])
    expect((await look('data-sets').expect(200)).body).toEqual([])
    await look('nothing').expect(404)
    await look('constructor').expect(404)
    const { body: problem } = await look('data-sets', { ...credentials, password: 'wrong-password' }).expect(422)
    expect(JSON.stringify(problem)).toContain('401')
  })
})

describe('a run of a destination', () => {
  it('pushes the view, stores rejected rows, mails failures, can be cancelled, and exposes no password', async () => {
    const post = await startSmtp()
    const mails = { SMTP_URL: `smtp://127.0.0.1:${post.port}`, MAIL_FROM: 'no-reply@example.org' }
    await service.stack.db
      .insertInto('settings')
      .values({ client: view.client, key: 'ALERT_EMAIL', value: 'ada@example.org' })
      .execute()
    const worker = await spawnWorker({ ...service.environment, ...mails, LOG_LEVEL: 'debug' })
    try {
      const { id } = await create()
      await owner.post(`/destinations/${id}/run`).send({}).expect(202)
      const run = await until(async () => {
        const { body: runs } = await owner.get(`/destinations/${id}/runs`).expect(200)
        return runs[0].finished && runs[0]
      })
      expect(run).toMatchObject({
        status: 'WARNING',
        rowsWritten: 1,
        progress: { rowsRead: 3, rowsRejected: 1 },
        message: expect.stringMatching(
          /^Sent 2 values of .* 1 imported, 0 updated, 0 deleted and 1 ignored\. 1 row without a value was skipped\. 1 row was rejected/,
        ),
      })
      const { body: rejected } = await owner.get(`/destinations/${id}/runs/${run.taskId}/rejected-rows`).expect(200)
      expect(rejected).toEqual([
        {
          line: 2,
          column: 'orgUnit',
          reason: 'E7612: Organisation unit not found: missing1',
          raw: '{"dataElement":"f7n9E0hX8qk","period":"202601","orgUnit":"missing1","value":"6"}',
        },
      ])
      expect([...dhis2.stored.values()]).toEqual(['5.5'])
      const lines = await service.stack.db.selectFrom('run_logs').select('message').execute()
      for (const said of [JSON.stringify(lines), service.log(), worker.output()])
        expect(said).not.toContain(credentials.password)

      const wrong = await create({ apiTarget: { url: dhis2.url, ...credentials, password: 'wrong-password' } })
      await owner.post(`/destinations/${wrong.id}/run`).send({}).expect(202)
      const failed = await until(async () => {
        const { body: runs } = await owner.get(`/destinations/${wrong.id}/runs`).expect(200)
        return runs[0].finished && runs[0]
      })
      expect(failed).toMatchObject({ status: 'FAILED', errorCode: 'AUTHENTICATION_FAILED', attempt: 1 })
      const mail = await until(() => post.received[0])
      expect([mail.to, mail.headers['subject']]).toEqual([['ada@example.org'], `Failed: destination ${wrong.name}`])
      expect(mail.text).toContain(failed.message)
      for (const said of [mail.text, worker.output(), service.log()]) expect(said).not.toContain('wrong-password')

      dhis2.state.instead = ({ method }) => (method === 'POST' ? { silent: true } : undefined)
      await owner.post(`/destinations/${id}/run`).send({}).expect(202)
      await until(async () => dhis2.imports().length === 2)
      const began = Date.now()
      await owner.post(`/destinations/${id}/cancel`).expect(202)
      await until(() => worker.output().includes('"ending":"LOST"'))
      expect(Date.now() - began).toBeLessThan(20_000)
      const { body: runs } = await owner.get(`/destinations/${id}/runs`).expect(200)
      expect(runs[0]).toMatchObject({
        status: 'CANCELLED',
        message: 'The run was cancelled. Data that was already sent stays in the target.',
      })
      await owner.delete(`/destinations/${id}`).expect(204)
    } finally {
      dhis2.state.instead = undefined
      await worker[Symbol.asyncDispose]()
      await post.stop()
    }
  })
})
