import { createHmac, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http/outgoing'
import { type SendMail, smtp } from '@sluice/mail'
import { createLogger, Redaction } from '@sluice/process'
import { no, startSmtp } from '@sluice/testing/smtp'
import { keepPostingAlerts } from '../../src/engine/alerts/post-alerts.ts'
import { webhook } from '../../src/engine/alerts/webhook.ts'
import { cancelRun } from '../../src/engine/runs/cancel-run.ts'
import { claimRun } from '../../src/engine/runs/claim-run.ts'
import { finishRun } from '../../src/engine/runs/finish-run.ts'
import { type Pipeline, type Stack, startStack } from './stack.ts'
import { until } from './worker-process.ts'

const secret = randomBytes(32)
const publicUrl = 'https://data.example.org'

let stack: Stack
let server: Awaited<ReturnType<typeof startSmtp>>
let send: SendMail
let answer: () => ReturnType<typeof no> | undefined = () => undefined
const calls: { headers: Record<string, string>; body: string }[] = []
let statuses: number[] = []
const operator = createServer((request, response) => {
  void text(request).then((body) => {
    calls.push({ headers: request.headers as Record<string, string>, body })
    response.writeHead(statuses.shift() ?? 204).end()
  })
})
let hook: string

beforeAll(async () => {
  stack = await startStack()
  server = await startSmtp({ answer: async () => answer() })
  send = smtp({
    server: { host: '127.0.0.1', port: server.port, secure: false, user: undefined, password: undefined },
    from: { name: 'Sluice', address: 'no-reply@example.org' },
  })
  await new Promise<void>((resolve) => operator.listen(0, '127.0.0.1', resolve))
  hook = `http://127.0.0.1:${(operator.address() as AddressInfo).port}/alerts`
})
afterAll(async () => {
  operator.close()
  await server?.stop()
  await stack?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  server.received.length = 0
  calls.length = 0
  statuses = []
  answer = () => undefined
  await stack.db.deleteFrom('alerts').execute()
})

async function alerted(addresses: string): Promise<Pipeline> {
  const pipeline = await stack.pipeline()
  await stack.db
    .insertInto('settings')
    .values({ client: pipeline.client, key: 'ALERT_EMAIL', value: addresses })
    .execute()
  return pipeline
}

/** A run of it that ends so. */
async function ended(
  pipeline: Pipeline,
  state: 'FAILED' | 'WARNING' = 'FAILED',
  message = 'The file is <b>empty</b>.',
) {
  const run = await stack.run(pipeline)
  const claim = (await claimRun(stack.db, run.uid))!
  const success = { state: 'WARNING' as const, message, rowsWritten: 0, bytesWritten: 0, rowsRejected: 0 }
  const outcome = state === 'FAILED' ? { state, code: 'FILE_EMPTY', message } : success
  expect(await finishRun(stack, claim, outcome)).toBe(true)
  expect(await finishRun(stack, claim, outcome)).toBe(false)
  return run
}

const alerts = () => stack.db.selectFrom('alerts').selectAll().orderBy('id').execute()
const kinds = async () => (await alerts()).map(({ channel, recipient }) => `${channel} ${recipient}`)
const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })

function posting(changes: { url?: string; mail?: SendMail | undefined } = {}) {
  const { url = hook, mail = send } = changes
  const poster = keepPostingAlerts({
    db: stack.db,
    logger,
    publicUrl,
    sendMail: 'mail' in changes ? changes.mail : mail,
    webhook: url ? webhook({ url, secret, allowed: outgoingAllowed().parse('127.0.0.1'), publicUrl }) : undefined,
    every: 50,
  })
  return { [Symbol.asyncDispose]: () => poster.stop() }
}
const due = () => stack.db.updateTable('alerts').set({ try_after: new Date() }).execute()

describe('a run that fails', () => {
  it('is told to all addresses of its client, once, with what failed, why, when and where to look', async () => {
    const pipeline = await alerted('ada@example.org,grace@example.org')
    const run = await ended(pipeline)
    const { name, uid } = await stack.db
      .selectFrom('data_pipelines')
      .select(['name', 'uid'])
      .where('id', '=', pipeline.id)
      .executeTakeFirstOrThrow()
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ sent_at }) => sent_at))
    expect(server.received.flatMap(({ to }) => to).toSorted()).toEqual(['ada@example.org', 'grace@example.org'])
    const [mail] = server.received
    expect(mail!.headers['subject']).toBe(`Failed: pipeline ${name}`)
    expect(mail!.text).toMatch(
      new RegExp(
        `^The pipeline "${name}" failed on \\d+ \\w+ \\d{4}, \\d\\d:\\d\\d UTC\\.\n\nThe file is <b>empty</b>\\.\n\n`,
      ),
    )
    expect(mail!.text).toContain(`${publicUrl}/api/v1/data-pipelines/${uid}/runs`)
    expect(mail!.text).toContain(`Run ${run.uid}, FILE_EMPTY.`)
    expect(mail!.html).toContain('<p>The file is &lt;b&gt;empty&lt;/b&gt;.</p>')
  })

  it('is told to the operator by a call that is signed as Standard Webhooks has it', async () => {
    const pipeline = await alerted('')
    const run = await ended(pipeline)
    await using _posting = posting()
    await until(() => calls.length === 1)
    const [{ headers, body }] = calls as [(typeof calls)[number]]
    expect(JSON.parse(body)).toMatchObject({
      type: 'run.failed',
      data: { client: pipeline.client, kind: 'DATA_PIPELINE', run: run.uid, errorCode: 'FILE_EMPTY', failures: 1 },
    })
    const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
    const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${expected}`)
    expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(60)
    expect(id).toBe((await alerts())[0]!.uid)
  })

  it('again within the hour is told to the operator alone, and counted in the next letter', async () => {
    const pipeline = await alerted('ada@example.org')
    for (let failure = 0; failure < 3; failure += 1) await ended(pipeline)
    expect(await kinds()).toEqual(['WEBHOOK operator', 'MAIL ada@example.org', 'WEBHOOK operator', 'WEBHOOK operator'])
    await stack.db
      .updateTable('alerts')
      .set({ created_at: new Date(Date.now() - 3_700_000) })
      .execute()
    await ended(pipeline)
    const [last] = (await alerts()).slice(-1)
    expect([last!.channel, (last!.content as { failures: number }).failures]).toEqual(['MAIL', 3])
  })

  it('is the only one: neither a warning nor a cancelled run is told, nor a job of a workflow', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline, 'WARNING')
    await stack.run(pipeline)
    await stack.db.transaction().execute((trx) => cancelRun(trx, stack.queue, pipeline.id))
    const workflow = await ended(await stack.pipeline())
    const run = await stack.run(pipeline)
    await stack.db.updateTable('runs').set({ workflow_run_id: workflow.id }).where('id', '=', run.id).execute()
    const claim = (await claimRun(stack.db, run.uid))!
    await finishRun(stack, claim, { state: 'FAILED', code: 'X', message: 'x' })
    expect((await alerts()).map(({ run_id }) => run_id)).toEqual([workflow.id])
  })
})

describe('an alert', () => {
  it('that is not taken is tried again under the same id, and says why', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline)
    answer = () => no(451, 'Try later')
    statuses = [500]
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ last_problem }) => last_problem))
    const [call, mail] = await alerts()
    expect([call!.last_problem, mail!.last_problem]).toEqual([
      'The webhook answers 500.',
      expect.stringContaining('Try later'),
    ])
    expect(mail!.try_after.getTime()).toBeGreaterThan(Date.now())
    answer = () => undefined
    await due()
    await until(async () => (await alerts()).every(({ sent_at, tries }) => sent_at && tries === 2))
    expect(new Set(calls.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([call!.uid]))
  })

  it('that is refused for good is given up at once, and any other after a day', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline)
    answer = () => no(550, 'No such user')
    statuses = [503]
    await stack.db
      .updateTable('alerts')
      .set({ created_at: new Date(Date.now() - 90_000_000) })
      .where('channel', '=', 'WEBHOOK')
      .execute()
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ given_up_at }) => given_up_at))
    expect((await alerts()).map(({ last_problem }) => last_problem)).toEqual([
      'The webhook answers 503.',
      expect.stringContaining('No such user'),
    ])
  })

  it('waits for a worker that can send it, and is given up after a day in which none could', async () => {
    await ended(await alerted('ada@example.org'))
    {
      await using _neither = posting({ url: '', mail: undefined })
      await until(async () => (await alerts())[1]!.last_problem)
    }
    expect((await alerts()).map(({ channel, tries }) => [channel, tries])).toEqual([
      ['WEBHOOK', 0],
      ['MAIL', 0],
    ])
    {
      await using _neither = posting({ url: '', mail: undefined })
      await using _both = posting()
      await until(async () => (await alerts()).every(({ sent_at }) => sent_at))
    }
    expect([calls.length, server.received.length]).toEqual([1, 1])
    await stack.db.deleteFrom('alerts').execute()
    await ended(await alerted('ada@example.org'))
    await stack.db
      .updateTable('alerts')
      .set({ created_at: new Date(Date.now() - 90_000_000) })
      .execute()
    await using _neither = posting({ url: '', mail: undefined })
    await until(async () => (await kinds()).join() === 'MAIL ada@example.org')
    await until(async () => (await alerts())[0]!.given_up_at)
  })

  it('waits where there is no mail server, and goes to no address that is not allowed', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline)
    {
      await using _posting = posting({ url: '', mail: undefined })
      await until(async () => (await alerts())[1]!.last_problem)
      expect((await alerts())[1]!.last_problem).toContain('SMTP_URL')
    }
    await stack.db.deleteFrom('alerts').execute()
    await ended(pipeline)
    await using _posting = posting({ url: 'http://169.254.169.254/alerts' })
    await until(async () => (await alerts()).find(({ channel, last_problem }) => channel === 'WEBHOOK' && last_problem))
    expect((await alerts())[0]!.last_problem).toContain('link-local')
  })
})
