import fc from 'fast-check'
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http-client'
import { type SendMail, createSmtpSender } from '@sluice/mail'
import { Redaction, createLogger } from '@sluice/process'
import { sql } from 'kysely'
import type { ClientSummary } from '@sluice/contracts'
import { smtpRefusal, startSmtp } from '@sluice/testing/smtp'
import { startSendingAlerts } from '../../src/alerts/send-alerts.ts'
import { createWebhook } from '../../src/alerts/webhook.ts'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { claimRun } from '../../src/runs/claim-run.ts'
import { finishRun } from '../../src/run-lifecycle/finish-run.ts'
import type { RunAction } from '../../src/runs/runnable-kinds.ts'
import { alertNoSuccess } from '../../src/worker/maintenance/alert-no-success.ts'
import { type Pipeline, type Stack, startStack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

const secret = randomBytes(32)
const publicUrl = 'https://data.example.org'

let stack: Stack
let server: Awaited<ReturnType<typeof startSmtp>>
let send: SendMail
let answer: () => ReturnType<typeof smtpRefusal> | undefined = () => undefined
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
  send = createSmtpSender({
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
  await stack.db.deleteFrom('settings').execute()
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
  state: 'FAILED' | 'WARNING' | 'OK' = 'FAILED',
  message = 'The file is <b>empty</b>.',
  action: RunAction = 'RUN',
) {
  const run = await stack.run(pipeline)
  await stack.db.updateTable('runs').set({ action }).where('id', '=', run.id).execute()
  const claim = (await claimRun(stack.db, run.uid))!
  const success = { message, rowsWritten: 0, bytesWritten: 0, rowsRejected: 0 }
  const outcome = state === 'FAILED' ? { state, code: 'EMPTY_FILE', message } : { state, ...success }
  expect(await finishRun(stack, claim, outcome)).toBe(true)
  expect(await finishRun(stack, claim, outcome)).toBe(false)
  return run
}

const alerts = () => stack.db.selectFrom('alerts').selectAll().orderBy('id').execute()
const kinds = async () => (await alerts()).map(({ channel, recipient }) => `${channel} ${recipient}`)
const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })

function posting(changes: { url?: string; mail?: SendMail | undefined } = {}) {
  const { url = hook, mail = send } = changes
  const poster = startSendingAlerts({
    db: stack.db,
    logger,
    publicUrl,
    sendMail: 'mail' in changes ? changes.mail : mail,
    webhook: url ? createWebhook({ url, secret, allowed: outgoingAllowed().parse('127.0.0.1'), publicUrl }) : undefined,
    intervalMs: 50,
  })
  return { [Symbol.asyncDispose]: () => poster.stop() }
}
const due = () => stack.db.updateTable('alerts').set({ try_after: new Date() }).execute()

const age = (seconds: number) =>
  stack.db
    .updateTable('alerts')
    .set({
      created_at: sql<Date>`created_at - make_interval(secs => ${seconds})`,
      try_after: sql<Date>`try_after - make_interval(secs => ${seconds})`,
    })
    .execute()

describe('alerts about a failed run', () => {
  it('are mailed once to each address of the organisation, with reason, time and log command', async () => {
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
    const [first, ...rest] = mail!.text.trim().split('\n\n')
    expect(first).toMatch(new RegExp(`^The pipeline "${name}" failed on \\d+ \\w+ \\d{4}, \\d\\d:\\d\\d UTC\\.$`))
    expect(rest).toEqual([
      'The file is <b>empty</b>.',
      'What to do: Upload a file with rows, then run it again. The rows of the last good run are still there.',
      `Run id: ${run.uid}. Its code is EMPTY_FILE.`,
      `This command shows more. TOKEN is an API token of yours, or an access token:
curl -H "Authorization: Bearer $TOKEN" '${publicUrl}/api/v1/data-pipelines/${uid}/logs?taskId=${run.uid}'`,
      'You get this mail because your address is in the setting ALERT_EMAIL of your organisation.',
    ])
    expect(mail!.html).toContain('<p>The file is &lt;b&gt;empty&lt;/b&gt;.</p>')
    expect(mail!.html).not.toContain('<a ')
  })

  it('call the webhook of the operator with a Standard Webhooks signature', async () => {
    const pipeline = await alerted('')
    const run = await ended(pipeline)
    await using _posting = posting()
    await until(() => calls.length === 1)
    const [{ headers, body }] = calls as [(typeof calls)[number]]
    expect(JSON.parse(body)).toMatchObject({
      type: 'run.failed',
      data: { client: pipeline.client, kind: 'DATA_PIPELINE', run: run.uid, errorCode: 'EMPTY_FILE', failures: 1 },
    })
    const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
    const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${expected}`)
    expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(60)
    expect(id).toBe((await alerts())[0]!.uid)
  })

  it('combine further failures within an hour into one webhook call, and into the count of the next mail', async () => {
    const pipeline = await alerted('ada@example.org')
    for (let failure = 0; failure < 3; failure += 1) await ended(pipeline)
    expect(await kinds()).toEqual(['WEBHOOK operator', 'MAIL ada@example.org', 'WEBHOOK operator'])
    const [first, , waiting] = await alerts()
    expect(waiting!.try_after.getTime()).toBe(first!.created_at.getTime() + 3_600_000)
    expect((waiting!.content as { failures: number }).failures).toBe(2)
    await age(3_700)
    await ended(pipeline)
    const last = (await alerts()).at(-1)!
    expect([last.channel, (last.content as { failures: number }).failures]).toEqual(['MAIL', 3])
  })

  it('do not call the webhook at the end of the hour if a later run succeeded', async () => {
    const pipeline = await alerted('')
    for (const state of ['FAILED', 'FAILED', 'OK'] as const) await ended(pipeline, state)
    expect(await kinds()).toEqual(['WEBHOOK operator'])
  })

  it('are not sent for warnings, cancelled runs or jobs of a workflow', async () => {
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

describe('mails about warnings and recoveries', () => {
  const events = async () => (await alerts()).filter(({ channel }) => channel === 'MAIL').map(({ event }) => event)

  it('report a warning if the setting asks for it, at most once an hour', async () => {
    const pipeline = await alerted('ada@example.org,WARNING')
    for (let times = 0; times < 2; times += 1) await ended(pipeline, 'WARNING', '3 rows did not fit.')
    expect(await kinds()).toEqual(['MAIL ada@example.org'])
    await age(3_700)
    await ended(pipeline, 'WARNING', '3 rows did not fit.')
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ sent_at }) => sent_at))
    const mail = server.received.find(({ text }) => text.includes(' times '))!
    expect(mail.headers['subject']).toMatch(/^Warning: pipeline /)
    expect(mail.text).toMatch(/ended with a warning on .*\n\nIt has ended with a warning 2 times since the last mail/)
    expect(mail.text).toContain('What to do: The rows were loaded. Look at the log and the rejected rows of the run')
    expect(mail.text).not.toContain('Its code is')
    expect(calls).toEqual([])
  })

  it('report a recovery once, and delay the next failure within the hour to its end', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline, 'OK', 'Loaded 1 row.')
    await ended(pipeline)
    for (let times = 0; times < 2; times += 1) await ended(pipeline, 'OK', 'Loaded 7 rows.')
    await ended(pipeline)
    expect(await events()).toEqual(['FAILED', 'RECOVERED', 'FAILED'])
    const [first, , waiting] = (await alerts()).filter(({ channel }) => channel === 'MAIL')
    expect(waiting!.try_after.getTime()).toBe(first!.created_at.getTime() + 3_600_000)
    await ended(pipeline, 'WARNING')
    expect(await events()).toEqual(['FAILED', 'RECOVERED'])
    await ended(pipeline)
    await age(3_700)
    await ended(pipeline, 'WARNING', 'Loaded 6 rows, 1 did not fit.')
    expect((await events()).slice(3)).toEqual(['RECOVERED'])
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ sent_at }) => sent_at))
    const mail = server.received.find(({ text }) => text.includes('Loaded 7 rows.'))!
    expect(mail.headers['subject']).toMatch(/^OK again: pipeline /)
    expect(mail.text).toMatch(/^The pipeline ".*" is OK again: it ran successfully on /)
    expect(mail.text).toContain('What to do: There is nothing to do.')
    expect(new Set(calls.map(({ body }) => JSON.parse(body).type))).toEqual(new Set(['run.failed']))
  })

  it('report a failure after a warning, but do not repeat both within the hour', async () => {
    const pipeline = await alerted('ada@example.org,WARNING')
    for (const state of ['WARNING', 'FAILED', 'WARNING', 'FAILED', 'OK'] as const) await ended(pipeline, state)
    expect(await events()).toEqual(['WARNING', 'FAILED', 'RECOVERED'])
  })

  it('match the last state after an hour and are limited to one per event and hour, for any runs', async () => {
    const step = fc.record({ state: fc.constantFrom('FAILED', 'WARNING', 'OK'), minutes: fc.nat({ max: 40 }) })
    const truth = { FAILED: 'FAILED', WARNING: 'WARNING', OK: 'RECOVERED' } as const
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 9 }), async (steps) => {
        await stack.db.deleteFrom('alerts').execute()
        const pipeline = await alerted('ada@example.org,WARNING')
        for (const { state, minutes } of steps) {
          await ended(pipeline, state)
          await age(minutes * 60)
        }
        await age(3_600)
        const mails = (await alerts())
          .filter(({ channel }) => channel === 'MAIL')
          .toSorted((one, other) => one.created_at.getTime() - other.created_at.getTime() || one.id - other.id)
        expect(mails.at(-1)?.event ?? 'RECOVERED').toBe(truth[steps.at(-1)!.state])
        for (const bad of ['FAILED', 'WARNING'] as const) {
          const moments = mails.filter(({ event }) => event === bad).map(({ created_at }) => created_at.getTime())
          for (const [index, moment] of moments.slice(1).entries())
            expect(moment - moments[index]!).toBeGreaterThanOrEqual(3_600_000)
        }
        for (const [index, { event }] of mails.entries())
          if (event === 'RECOVERED') expect(['FAILED', 'WARNING']).toContain(mails[index - 1]?.event)
      }),
      { numRuns: 25 },
    )
  })

  it('ignore restores, which load nothing', async () => {
    const pipeline = await alerted('ada@example.org,WARNING')
    for (const state of ['FAILED', 'WARNING', 'OK'] as const) await ended(pipeline, state, 'Restored.', 'RESTORE')
    expect(await alerts()).toEqual([])
    await ended(pipeline)
    await ended(pipeline, 'OK', 'Restored.', 'RESTORE')
    expect(await events()).toEqual(['FAILED'])
    await ended(pipeline, 'OK')
    expect(await events()).toEqual(['FAILED', 'RECOVERED'])
  })

  it('report a recovery after a successful run in a workflow', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline)
    const workflow = await ended(await stack.pipeline(), 'OK')
    const run = await stack.run(pipeline)
    await stack.db.updateTable('runs').set({ workflow_run_id: workflow.id }).where('id', '=', run.id).execute()
    const claim = (await claimRun(stack.db, run.uid))!
    await finishRun(stack, claim, { state: 'OK', message: '', rowsWritten: 0, bytesWritten: 0, rowsRejected: 0 })
    expect(await events()).toEqual(['FAILED', 'RECOVERED'])
  })
})

describe('alert about no success for too long', () => {
  const standing = { disabled: false, pipelinesEnabled: true, timeZone: 'UTC' }
  const look = async (changes: object = {}) =>
    alertNoSuccess({
      db: stack.db,
      identity: {
        clients: async (uids) => new Map(uids.map((uid) => [uid, { ...standing, ...changes } as ClientSummary])),
      },
    }).run(new AbortController().signal)

  /** A pipeline that is due every hour, as if it were scheduled so many hours ago. */
  async function scheduled(hoursAgo: number, setting = 'ada@example.org,NO_SUCCESS_24_HOURS', trigger = 'EVERY_HOUR') {
    const pipeline = await alerted(setting)
    const { db } = stack
    await db.updateTable('data_pipelines').set({ run_trigger: trigger }).where('id', '=', pipeline.id).execute()
    const since = new Date(Date.now() - hoursAgo * 3_600_000)
    await db
      .updateTable('runnables')
      .set({ planned: true, next_run_at: new Date(), scheduled_since: since })
      .where('id', '=', pipeline.id)
      .execute()
    return pipeline
  }
  const finishedAgo = ({ id }: { id: number }, hours: number) => {
    const moment = new Date(Date.now() - hours * 3_600_000)
    return stack.db.updateTable('runs').set({ finished_at: moment, created_at: moment }).where('id', '=', id).execute()
  }

  it('is sent once, by one of several workers, until the next success', async () => {
    const pipeline = await scheduled(100)
    await finishedAgo(await ended(pipeline, 'OK', 'Loaded 1 row.'), 30)
    await finishedAgo(await ended(pipeline, 'FAILED', 'The file is too old.'), 29)
    await ended(pipeline, 'OK', 'It would load 1 row.', 'DRY_RUN')
    await ended(pipeline, 'OK', 'Restored.', 'RESTORE')
    await stack.db.deleteFrom('alerts').execute()
    expect(await Promise.all([look(), look(), look()]).then((all) => all.reduce((sum, one) => sum + one))).toBe(1)
    expect(await look()).toBe(0)
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ sent_at }) => sent_at))
    const [mail] = server.received
    expect(mail!.headers['subject']).toMatch(/^No success for 24 hours: pipeline /)
    expect(mail!.text).toMatch(/has a schedule and had no successful run for 24 hours\. The last one ended on \d/)
    expect(mail!.text).toContain('Its last run says:\n\nThe file is too old.')
    await ended(pipeline, 'OK')
    expect((await alerts()).map(({ event }) => event)).toEqual(['NO_SUCCESS', 'RECOVERED'])
  })

  it('is sent for a pipeline that never ran, and its period restarts when the schedule changes', async () => {
    const pipeline = await scheduled(25)
    expect(await look()).toBe(1)
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ sent_at }) => sent_at))
    expect(server.received[0]!.text).toContain('It has never run successfully.\n\nNo run has started since then.')
    await stack.db.deleteFrom('alerts').execute()
    for (const disabled of [true, false])
      await stack.db.updateTable('data_pipelines').set({ disabled }).where('id', '=', pipeline.id).execute()
    await stack.db.updateTable('runnables').set({ planned: true }).where('id', '=', pipeline.id).execute()
    expect(await look()).toBe(0)
  })

  it.each([
    ['a schedule that is too recent', () => scheduled(23)],
    ['a setting without it', () => scheduled(100, 'ada@example.org')],
    ['a schedule that was not yet due in the period', () => scheduled(25, undefined, 'EVERY_MONTH')],
    [
      'a run that was requested within the hour',
      async () => {
        const pipeline = await scheduled(100)
        await stack.run(pipeline)
      },
    ],
    [
      'an uploaded file that is already loaded',
      async () => {
        const pipeline = await scheduled(100)
        await finishedAgo(await ended(pipeline, 'OK'), 30)
      },
    ],
    [
      'no schedule',
      async () => {
        const { id } = await scheduled(100)
        await stack.db.updateTable('runnables').set({ next_run_at: null }).where('id', '=', id).execute()
      },
    ],
  ])('is not sent with %s', async (_case, arrange) => {
    await arrange()
    expect(await look()).toBe(0)
  })

  it('is mailed in a later hour if the organisation has reached its limit', async () => {
    const { client } = await scheduled(100)
    const pipelines = await Promise.all(Array.from({ length: 20 }, () => stack.pipeline(client)))
    for (const pipeline of pipelines) await ended(pipeline)
    expect(await look()).toBe(0)
    await age(3_700)
    expect(await look()).toBe(1)
  })

  it('is not sent for a disabled organisation', async () => {
    await scheduled(100)
    expect(await look({ disabled: true })).toBe(0)
    expect(await look()).toBe(1)
  })
})

describe('delivery of an alert', () => {
  it('converts an international domain to its ASCII form', async () => {
    await ended(await alerted('ada@müller.example'))
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ sent_at, given_up_at }) => sent_at ?? given_up_at))
    // The test server decodes the ASCII form.
    expect(server.received.map(({ to }) => to)).toEqual([['ada@müller.example']])
    expect(server.received[0]!.headers['to']).toBe('ada@xn--mller-kva.example')
  })

  it('is retried under the same id after a failure, and records the reason', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline)
    answer = () => smtpRefusal(451, 'Try later')
    statuses = [500]
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ last_problem }) => last_problem))
    const [call, mail] = await alerts()
    expect([call!.last_problem, mail!.last_problem]).toEqual([
      'The webhook returned the status 500.',
      expect.stringContaining('Try later'),
    ])
    expect(mail!.try_after.getTime()).toBeGreaterThan(Date.now())
    answer = () => undefined
    await due()
    await until(async () => (await alerts()).every(({ sent_at, tries }) => sent_at && tries === 2))
    expect(new Set(calls.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([call!.uid]))
  })

  it('is abandoned at once after a permanent refusal, and after a day otherwise', async () => {
    const pipeline = await alerted('ada@example.org')
    await ended(pipeline)
    answer = () => smtpRefusal(550, 'No such user')
    statuses = [503]
    await stack.db
      .updateTable('alerts')
      .set({ created_at: new Date(Date.now() - 90_000_000) })
      .where('channel', '=', 'WEBHOOK')
      .execute()
    await using _posting = posting()
    await until(async () => (await alerts()).every(({ given_up_at }) => given_up_at))
    expect((await alerts()).map(({ last_problem }) => last_problem)).toEqual([
      'The webhook returned the status 503.',
      expect.stringContaining('No such user'),
    ])
  })

  it('waits for a worker that can send it, and is abandoned after a day without one', async () => {
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

  it('waits without a mail server, and refuses a webhook address that is not allowed', async () => {
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

describe('alerts of many organisations', () => {
  /** Inserts alerts of a client with the given age in seconds. */
  async function backlog(client: string, channel: 'MAIL' | 'WEBHOOK', count: number, seconds: number) {
    const written = new Date(Date.now() - seconds * 1_000)
    const finished = written.toISOString()
    const about = {
      kind: 'DATA_PIPELINE',
      id: randomUUID(),
      name: 'p',
      run: null,
      trigger: 'MANUAL',
      errorCode: null,
      message: '',
    }
    const content = JSON.stringify({ ...about, client, finished, failures: 1 })
    const row = { client, channel, recipient: client, content, created_at: written, try_after: written }
    await stack.db
      .insertInto('alerts')
      .values(Array.from({ length: count }, () => row))
      .execute()
  }
  const clients = (count: number) => Array.from({ length: count }, () => randomUUID())

  it('are sent in turns, so one alert is tried in the next round despite the backlog of others', async () => {
    const tried: string[] = []
    const floods = clients(7)
    for (const [index, client] of floods.entries()) await backlog(client, 'MAIL', 30, 900 - index)
    const mail: SendMail = async ({ recipient }) => {
      tried.push(recipient)
      if (tried.length === 20) await backlog(late, 'MAIL', 1, 0)
    }
    const [late] = clients(1) as [string]
    await using _posting = posting({ mail, url: '' })
    await until(() => tried.includes(late))
    // One alert of each other client, and the alerts that this process had already claimed.
    const before = tried.slice(0, tried.indexOf(late))
    expect(before.length).toBeLessThan(20 + floods.length + 5)
    for (const client of floods) expect(before.filter((one) => one === client).length).toBeLessThan(7)
  })

  it('of one organisation leave slots to others while they hang', async () => {
    const [hanging, other] = clients(2) as [string, string]
    await backlog(hanging, 'MAIL', 20, 900)
    const open = Promise.withResolvers<void>()
    const sent: string[] = []
    let started = 0
    const mail: SendMail = async ({ recipient }) => {
      if (recipient === hanging) {
        started += 1
        await open.promise
      }
      sent.push(recipient)
    }
    await using _posting = posting({ mail, url: '' })
    await until(() => started === 3)
    await backlog(other, 'MAIL', 20, 0)
    await until(() => sent.length === 20)
    expect([started, new Set(sent)]).toEqual([3, new Set([other])])
    open.resolve()
    await until(() => sent.length === 40)
  })

  it('are mailed while the webhook hangs', async () => {
    const client = randomUUID()
    await backlog(client, 'WEBHOOK', 10, 900)
    await backlog(client, 'MAIL', 10, 800)
    const held: (() => void)[] = []
    const slow = createServer((_request, response) => void held.push(() => response.end()))
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
    let sent = 0
    const mail: SendMail = async () => void (sent += 1)
    {
      await using _posting = posting({ mail, url: `http://127.0.0.1:${(slow.address() as AddressInfo).port}/` })
      await until(() => sent === 10)
      const calls = (await alerts()).filter(({ channel }) => channel === 'WEBHOOK')
      expect(calls.some(({ sent_at, last_problem }) => sent_at ?? last_problem)).toBe(false)
      await stack.db.deleteFrom('alerts').where('tries', '=', 0).execute()
      for (const release of held) release()
    }
    slow.close()
  })

  it('are limited to twenty failures an hour for each organisation, and the last mail says so', async () => {
    const { client } = await alerted('ada@example.org,grace@example.org')
    const pipelines = await Promise.all(Array.from({ length: 22 }, () => stack.pipeline(client)))
    for (const pipeline of pipelines) await ended(pipeline)
    const mails = async () => (await alerts()).filter(({ channel }) => channel === 'MAIL')
    expect([(await mails()).length, (await alerts()).length]).toEqual([40, 62])
    await ended(pipelines[0]!, 'OK')
    expect((await mails()).map(({ event }) => event).slice(40)).toEqual(['RECOVERED', 'RECOVERED'])
    const other = await alerted('linus@example.org')
    await ended(other)
    expect((await mails()).at(-1)!.recipient).toBe('linus@example.org')
    const sent: Parameters<SendMail>[0][] = []
    await using _posting = posting({ mail: async (one) => void sent.push(one), url: '' })
    await until(async () => (await mails()).every(({ sent_at }) => sent_at))
    const last = sent.filter(({ text }) => text.includes('at most 20 such emails an hour'))
    expect(last.map(({ recipient }) => recipient).toSorted()).toEqual(['ada@example.org', 'grace@example.org'])
    expect(last[0]!.text).toMatch(/No further emails are sent until \d+ \w+ \d{4}, \d\d:\d\d UTC: look at the status/)
    await age(3_700)
    await ended(pipelines[21]!)
    expect((await mails()).at(-1)!.content).toMatchObject({ event: 'FAILED' })
    expect(await mails()).toHaveLength(40 + 2 + 1 + 2)
  })
})
