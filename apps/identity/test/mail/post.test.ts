import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { pino } from 'pino'
import { connect } from '@sluice/database'
import type { DB } from '../../src/database.ts'
import { keepHouseOnce } from '../../src/housekeeping.ts'
import { claimMails } from '../../src/mail/claims.ts'
import { keepPosting, postOnce } from '../../src/mail/post.ts'
import { answerForgotten } from '../../src/sign-in/forgotten.ts'
import type { SmtpServer } from '@sluice/mail'
import { smtp } from '@sluice/mail'
import { startService, userBody, type Service } from '../app-under-test.ts'
import { tokenIn } from '../links.ts'
import { no, selfSigned, startSmtp } from '@sluice/testing/smtp'

const from = { name: 'Sluice, at Example', address: 'no-reply@example.org' }
const at = (port: number, more: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  secure: false,
  user: undefined,
  password: undefined,
  ...more,
})

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
const open: { stop(): Promise<void> }[] = []
beforeAll(async () => {
  service = await startService({ SMTP_URL: at(1), MAIL_FROM: from, IDENTITY_PUBLIC_URL: 'https://id.example.org' })
  admin = await service.as(['ROLE_MANAGE_USER'])
})
afterAll(() => service.stop())
beforeEach(() => sql`delete from mails`.execute(service.db))
afterEach(() => Promise.all(open.splice(0).map((one) => one.stop())))

const server = async (options: Parameters<typeof startSmtp>[0] = {}) => {
  const started = await startSmtp(options)
  open.push(started)
  return started
}
const lines: string[] = []
const parts = (send: ReturnType<typeof smtp>, db = service.db) => ({
  db,
  config: service.config,
  logger: pino({}, { write: (line: string) => void lines.push(line) }),
  send,
  answer: () => answerForgotten(db, service.config),
})
const post = (port: number, more: Partial<Parameters<typeof smtp>[0]> = {}) =>
  postOnce(parts(smtp({ server: at(port), from, ...more })))
const invite = async () => (await admin.post('/users/invite').send(userBody()).expect(201)).body
const mails = async () => (await admin.get('/mails').expect(200)).body
const due = () => sql`update mails set next_try_at = now() where state = 'QUEUED'`.execute(service.db)

describe('a mail', () => {
  it('brings the link to its recipient and to nobody else, once', async () => {
    const { received, port } = await server()
    const invited = await invite()
    expect(invited).not.toHaveProperty('invitationLink')
    expect(await mails()).toMatchObject([{ state: 'QUEUED', kind: 'INVITATION', attempts: 0 }])
    expect(await post(port)).toBe(true)
    expect(await post(port)).toBe(false)

    expect(received).toHaveLength(1)
    const { headers, text, html, ...envelope } = received[0]!
    expect(envelope).toMatchObject({ from: from.address, to: [invited.email] })
    const [mail] = await mails()
    expect(headers).toMatchObject({
      from: '"Sluice, at Example" <no-reply@example.org>',
      to: invited.email,
      subject: 'Your invitation to Sluice',
      'message-id': `<${mail.id}@example.org>`,
      'auto-submitted': 'auto-generated',
    })
    const link = `https://id.example.org/account/invitation?token=${tokenIn(text)}`
    expect(text).toContain(`\n${link}\n`)
    expect(html).toContain(`href="${link}"`)
    expect(html).not.toMatch(/<(img|script|link|iframe)|url\(/i)
    expect(text).toContain(invited.username)

    expect(mail).toMatchObject({ state: 'SENT', attempts: 1, finished: expect.any(String) })
    expect((await admin.get(`/mails/${mail.id}`).expect(200)).body).not.toHaveProperty('text')
    expect((await sql<{ body: string | null }>`select body from mails`.execute(service.db)).rows).toEqual([
      { body: null },
    ])
    const accepted = { token: tokenIn(text), password: 'otters-juggle-17-plums' }
    await service.http.post('/api/v1/auth/accept-invitation').send(accepted).expect(204)
  })

  it('waits for a server that is down, longer each time, and goes out when it is back', async () => {
    const gone = await startSmtp()
    await gone.stop()
    await invite()
    const waits: number[] = []
    for (let tries = 0; tries < 3; tries++) {
      await due()
      await post(gone.port)
      const { rows } = await sql<{ wait: number }>`
        select extract(epoch from next_try_at - now())::float8 as wait from mails`.execute(service.db)
      waits.push(rows[0]!.wait)
      expect(await post(gone.port)).toBe(false)
    }
    for (const [tries, wait] of waits.entries()) {
      expect(wait).toBeGreaterThan(30 * 2 ** tries * 0.7)
      expect(wait).toBeLessThanOrEqual(30 * 2 ** tries)
    }
    expect(await mails()).toMatchObject([
      { state: 'QUEUED', attempts: 3, reason: expect.stringContaining('ECONNREFUSED') },
    ])
    const { received, port } = await server()
    await due()
    await post(port)
    expect([received.length, (await mails())[0].state]).toEqual([1, 'SENT'])
  })

  it.each([
    [
      'the recipient for now',
      'QUEUED',
      { onRcptTo: (_to: unknown, _session: unknown, done: any) => done(no(451, 'greylisted')) },
    ],
    [
      'the recipient for good',
      'FAILED',
      { onRcptTo: (_to: unknown, _session: unknown, done: any) => done(no(550, 'no such user')) },
    ],
    [
      'us, the sender',
      'QUEUED',
      { onMailFrom: (_from: unknown, _session: unknown, done: any) => done(no(550, 'who are you')) },
    ],
    ['what it says', 'FAILED', { answer: async () => no(554, 'looks like spam') }],
    ['it in the end, for now', 'QUEUED', { answer: async () => no(452, 'disk full') }],
  ])('is dealt with by whom a server refuses: %s', async (_what, state, options) => {
    const { received, port } = await server(options)
    await invite()
    await post(port)
    expect(received).toEqual([])
    const [mail] = await mails()
    expect(mail).toMatchObject({
      state,
      reason: expect.stringMatching(/greylisted|no such user|who are you|spam|full/),
    })
  })

  it('leaves no link in the reason or the log, whatever a server says', async () => {
    let said = ''
    const { port } = await server({
      answer: async ({ text }) => no(554, `refused: ${(said = tokenIn(text))} in\r\nsubject: x`),
    })
    await invite()
    await post(port)
    const [{ reason }] = await mails()
    expect(reason).toContain('refused: [link] in')
    expect(reason).not.toMatch(/[\r\n]/)
    expect(said).toMatch(/^sll_/)
    expect([...lines, ...service.lines].join('\n')).not.toContain(said)
  })

  it('does not wait for a server that says nothing', async () => {
    const { port } = await server({ onConnect: () => {} })
    await invite()
    await post(port, { patience: 500 })
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringMatching(/timeout|greeting/i) }])
  })

  it('is given up when its link has ended, or after a day, and the last reason is kept', async () => {
    await invite()
    await post(1)
    await sql`update mails set expires_at = now() - interval '1 hour', next_try_at = now()`.execute(service.db)
    await post(1)
    expect(await mails()).toMatchObject([
      { state: 'FAILED', reason: expect.stringContaining('Given up. At the last try: connect') },
    ])
    await invite()
    await sql`update mails set expires_at = now() - interval '1 hour' where state = 'QUEUED'`.execute(service.db)
    await keepHouseOnce(service.db)
    expect((await mails())[0]).toMatchObject({ state: 'FAILED', reason: 'Given up: no process tried to send it.' })
    await sql`update mails set created_at = now() - interval '31 days'`.execute(service.db)
    await keepHouseOnce(service.db)
    expect(await mails()).toEqual([])
  })

  it('that cannot be marked leaves none of its fellows under way', async () => {
    const [stuck, slow] = [await invite(), await invite()]
    await sql`
      create function refuse_mark() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$`.execute(
      service.db,
    )
    await sql`
      create trigger stuck before update of finished_at on mails for each row
      when (new.state = 'SENT' and new.recipient = ${sql.lit(stuck.email)}) execute function refuse_mark()`.execute(
      service.db,
    )
    try {
      const send = async ({ recipient }: { recipient: string }) => {
        if (recipient === slow.email) await new Promise((resolve) => setTimeout(resolve, 300))
      }
      await expect(postOnce(parts(send as ReturnType<typeof smtp>))).rejects.toThrow('the disk is full')
      expect((await mails()).find(({ recipient }: { recipient: string }) => recipient === slow.email).state).toBe(
        'SENT',
      )
    } finally {
      await sql`drop function refuse_mark cascade`.execute(service.db)
    }
  })

  it('is sealed while it waits', async () => {
    await invite()
    const { rows } = await sql<{ body: string }>`select body from mails`.execute(service.db)
    expect(rows[0]!.body).toMatch(/^test\.[\w-]+\.[\w-]+$/)
  })
})

describe('several processes', () => {
  it('send each mail once between them', async () => {
    const { received, port } = await server()
    const many = 24
    for (let at = 0; at < many; at++) await invite()
    const pools = Array.from({ length: 4 }, () =>
      connect<DB>(service.config.IDENTITY_DATABASE_URL, { name: 'post', max: 3 }),
    )
    const send = smtp({ server: at(port), from })
    const work = pools.map(async ({ db }) => {
      while (await postOnce(parts(send, db)));
    })
    await Promise.all(work)
    await Promise.all(pools.map(({ db }) => db.destroy()))
    expect(received).toHaveLength(many)
    expect(new Set(received.map(({ headers }) => headers['message-id'])).size).toBe(many)
  })

  it('send what one of them took and never answered for, under the same message id', async () => {
    const { received, port } = await server()
    await invite()
    const [lost] = await claimMails(service.db, 1)
    expect(await post(port)).toBe(false)
    await due()
    expect(await post(port)).toBe(true)
    expect(received.map(({ headers }) => headers['message-id'])).toEqual([`<${lost!.uid}@example.org>`])
  })

  it('finish what is under way when they stop', async () => {
    let arrived: () => void
    const under = new Promise<void>((resolve) => (arrived = resolve))
    const { received, port } = await server({
      async answer() {
        arrived()
        await new Promise((resolve) => setTimeout(resolve, 700))
        return undefined
      },
    })
    await invite()
    const posting = keepPosting(parts(smtp({ server: at(port), from })))
    await under
    await posting.stop()
    expect(received).toHaveLength(1)
    expect(await mails()).toMatchObject([{ state: 'SENT' }])
  })
})

describe('the way to the server', () => {
  const certificate = selfSigned()

  it('is encrypted as soon as the server offers it, and only to one that is who it says', async () => {
    const { received, port } = await server(certificate)
    await invite()
    await post(port)
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringContaining('certificate') }])
    await due()
    await post(port, { ca: certificate.cert })
    expect(received).toMatchObject([{ secure: true }])
  })

  it('is encrypted from the start with smtps', async () => {
    const { received, port } = await server({ ...certificate, secure: true })
    await invite()
    await post(port, { server: at(port, { secure: true }), ca: certificate.cert })
    expect(received).toMatchObject([{ secure: true }])
  })

  it('takes a user and a password, which go over no open line to another machine', async () => {
    const tried: unknown[] = []
    const { received, port } = await server({
      allowInsecureAuth: true,
      onAuth(auth, _session, done) {
        tried.push(auth.password)
        if (auth.password === 'right') done(null, { user: auth.username })
        else done(no(535, 'wrong password'))
      },
    })
    const as = (password: string, host = '127.0.0.1') => ({ server: at(port, { host, user: 'us', password }) })
    await invite()
    // Another name of this machine, which is not known for one.
    await post(port, as('right', '0.0.0.0'))
    expect(tried).toEqual([])
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringContaining('STARTTLS') }])
    await due()
    await post(port, as('wrong'))
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringContaining('wrong password') }])
    await due()
    await post(port, as('right'))
    expect(received).toMatchObject([{ user: 'us' }])
  })
})
