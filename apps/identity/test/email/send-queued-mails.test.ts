import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect } from '@sluice/database'
import { createSmtpSender } from '@sluice/mail'
import { smtpRefusal, startSmtp } from '@sluice/testing/smtp'
import type { DB } from '../../src/database.ts'
import { runMaintenanceOnce } from '../../src/maintenance/maintenance.ts'
import { claimMails, startMailSender, sendQueuedMails } from '../../src/email/send-queued-mails.ts'
import { tokenIn } from '../mailed-links.ts'
import { localServer, sender, startMailService } from './mail-service-setup.ts'

const setup = startMailService()
const { startServer, lines, senderDependencies, sendMails, invite, mails, makeMailsDue } = setup

describe('a queued mail', () => {
  it('is delivered once with the link, to its recipient only', async () => {
    const { received, port } = await startServer()
    const invited = await invite()
    expect(invited).not.toHaveProperty('invitationLink')
    expect(await mails()).toMatchObject([{ state: 'QUEUED', kind: 'INVITATION', attempts: 0 }])
    expect(await sendMails(port)).toBe(true)
    expect(await sendMails(port)).toBe(false)

    expect(received).toHaveLength(1)
    const { headers, text, html, ...envelope } = received[0]!
    expect(envelope).toMatchObject({ from: sender.address, to: [invited.email] })
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
    expect((await setup.admin.get(`/mails/${mail.id}`).expect(200)).body).not.toHaveProperty('text')
    expect((await sql<{ body: string | null }>`select body from mails`.execute(setup.service.db)).rows).toEqual([
      { body: null },
    ])
    const accepted = { token: tokenIn(text), password: 'otters-juggle-17-plums' }
    await setup.service.http.post('/api/v1/auth/accept-invitation').send(accepted).expect(204)
  })

  it('is retried with growing delays while the server is down', async () => {
    const stoppedServer = await startSmtp()
    await stoppedServer.stop()
    await invite()
    const waits: number[] = []
    for (let tries = 0; tries < 3; tries++) {
      await makeMailsDue()
      await sendMails(stoppedServer.port)
      const { rows } = await sql<{ wait: number }>`
        select extract(epoch from next_try_at - now())::float8 as wait from mails`.execute(setup.service.db)
      waits.push(rows[0]!.wait)
      expect(await sendMails(stoppedServer.port)).toBe(false)
    }
    for (const [tries, wait] of waits.entries()) {
      expect(wait).toBeGreaterThan(30 * 2 ** tries * 0.7)
      expect(wait).toBeLessThanOrEqual(30 * 2 ** tries)
    }
    expect(await mails()).toMatchObject([
      { state: 'QUEUED', attempts: 3, reason: expect.stringContaining('ECONNREFUSED') },
    ])
    const { received, port } = await startServer()
    await makeMailsDue()
    await sendMails(port)
    expect([received.length, (await mails())[0].state]).toEqual([1, 'SENT'])
  })

  it.each([
    [
      'the recipient for now',
      'QUEUED',
      { onRcptTo: (_to: unknown, _session: unknown, done: any) => done(smtpRefusal(451, 'greylisted')) },
    ],
    [
      'the recipient for good',
      'FAILED',
      { onRcptTo: (_to: unknown, _session: unknown, done: any) => done(smtpRefusal(550, 'no such user')) },
    ],
    [
      'the sender',
      'QUEUED',
      { onMailFrom: (_from: unknown, _session: unknown, done: any) => done(smtpRefusal(550, 'who are you')) },
    ],
    ['the content', 'FAILED', { answer: async () => smtpRefusal(554, 'looks like spam') }],
    ['the message temporarily after its content', 'QUEUED', { answer: async () => smtpRefusal(452, 'disk full') }],
  ])('is retried or fails depending on what the server refuses: %s', async (_what, state, options) => {
    const { received, port } = await startServer(options)
    await invite()
    await sendMails(port)
    expect(received).toEqual([])
    const [mail] = await mails()
    expect(mail).toMatchObject({
      state,
      reason: expect.stringMatching(/greylisted|no such user|who are you|spam|full/),
    })
  })

  it('never shows its link in the reason or the log', async () => {
    let sentToken = ''
    const { port } = await startServer({
      answer: async ({ text }) => smtpRefusal(554, `refused: ${(sentToken = tokenIn(text))} in\r\nsubject: x`),
    })
    await invite()
    await sendMails(port)
    const [{ reason }] = await mails()
    expect(reason).toContain('refused: [link] in')
    expect(reason).not.toMatch(/[\r\n]/)
    expect(sentToken).toMatch(/^sll_/)
    expect([...lines, ...setup.service.lines].join('\n')).not.toContain(sentToken)
  })

  it('times out if the server does not answer', async () => {
    const { port } = await startServer({ onConnect: () => {} })
    await invite()
    await sendMails(port, { timeoutMs: 500 })
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringMatching(/timeout|greeting/i) }])
  })

  it('fails after its link has expired or after a day, and keeps the last reason', async () => {
    await invite()
    await sendMails(1)
    await sql`update mails set expires_at = now() - interval '1 hour', next_try_at = now()`.execute(setup.service.db)
    await sendMails(1)
    expect(await mails()).toMatchObject([
      { state: 'FAILED', reason: expect.stringContaining('Gave up. Last error: connect') },
    ])
    await invite()
    await sql`update mails set expires_at = now() - interval '1 hour' where state = 'QUEUED'`.execute(setup.service.db)
    await runMaintenanceOnce(setup.service.db)
    expect((await mails())[0]).toMatchObject({ state: 'FAILED', reason: 'Gave up: no process picked it up in time.' })
    await sql`update mails set created_at = now() - interval '31 days'`.execute(setup.service.db)
    await runMaintenanceOnce(setup.service.db)
    expect(await mails()).toEqual([])
  })

  it('that cannot be marked as sent does not abandon concurrent mails', async () => {
    const [stuck, slow] = [await invite(), await invite()]
    await sql`
      create function refuse_mark() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$`.execute(
      setup.service.db,
    )
    await sql`
      create trigger stuck before update of finished_at on mails for each row
      when (new.state = 'SENT' and new.recipient = ${sql.lit(stuck.email)}) execute function refuse_mark()`.execute(
      setup.service.db,
    )
    try {
      const send = async ({ recipient }: { recipient: string }) => {
        if (recipient === slow.email) await new Promise((resolve) => setTimeout(resolve, 300))
      }
      await expect(sendQueuedMails(senderDependencies(send as ReturnType<typeof createSmtpSender>))).rejects.toThrow(
        'the disk is full',
      )
      expect((await mails()).find(({ recipient }: { recipient: string }) => recipient === slow.email).state).toBe(
        'SENT',
      )
    } finally {
      await sql`drop function refuse_mark cascade`.execute(setup.service.db)
    }
  })

  it('is sealed in the outbox', async () => {
    await invite()
    const { rows } = await sql<{ body: string }>`select body from mails`.execute(setup.service.db)
    expect(rows[0]!.body).toMatch(/^test\.[\w-]+\.[\w-]+$/)
  })
})

describe('concurrent mail processes', () => {
  it('send each mail once', async () => {
    const { received, port } = await startServer()
    const many = 24
    for (let at = 0; at < many; at++) await invite()
    const pools = Array.from({ length: 4 }, () =>
      connect<DB>(setup.service.config.IDENTITY_DATABASE_URL, { name: 'post', max: 3 }),
    )
    const send = createSmtpSender({ server: localServer(port), from: sender })
    const work = pools.map(async ({ db }) => {
      while (await sendQueuedMails(senderDependencies(send, db)));
    })
    await Promise.all(work)
    await Promise.all(pools.map(({ db }) => db.destroy()))
    expect(received).toHaveLength(many)
    expect(new Set(received.map(({ headers }) => headers['message-id'])).size).toBe(many)
  })

  it('resend a mail of a lost process with the same message id', async () => {
    const { received, port } = await startServer()
    await invite()
    const [lost] = await claimMails(setup.service.db, 1)
    expect(await sendMails(port)).toBe(false)
    await makeMailsDue()
    expect(await sendMails(port)).toBe(true)
    expect(received.map(({ headers }) => headers['message-id'])).toEqual([`<${lost!.uid}@example.org>`])
  })

  it('finish the running sends when they stop', async () => {
    let resolveStarted: () => void
    const sendStarted = new Promise<void>((resolve) => (resolveStarted = resolve))
    const { received, port } = await startServer({
      async answer() {
        resolveStarted()
        await new Promise((resolve) => setTimeout(resolve, 700))
        return undefined
      },
    })
    await invite()
    const mailSender = startMailSender(
      senderDependencies(createSmtpSender({ server: localServer(port), from: sender })),
    )
    await sendStarted
    await mailSender.stop()
    expect(received).toHaveLength(1)
    expect(await mails()).toMatchObject([{ state: 'SENT' }])
  })
})
