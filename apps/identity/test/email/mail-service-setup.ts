import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { sql } from 'kysely'
import { pino } from 'pino'
import { createSmtpSender, type SmtpServer } from '@sluice/mail'
import { startSmtp } from '@sluice/testing/smtp'
import { sendQueuedMails } from '../../src/email/send-queued-mails.ts'
import { answerPasswordReset } from '../../src/sign-in/password/password-reset-requests.ts'
import { startService, userBody, type Service } from '../app-under-test.ts'

export const sender = { name: 'Sluice, at Example', address: 'no-reply@example.org' }

/** The settings of an SMTP server on this machine, without credentials by default. */
export const localServer = (port: number, more: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  secure: false,
  user: undefined,
  password: undefined,
  ...more,
})

type Send = ReturnType<typeof createSmtpSender>

/** Starts a service for all tests of a file. A test sends its queued mails, and starts the SMTP server, itself. */
export function startMailService() {
  let service: Service
  let admin: Awaited<ReturnType<Service['as']>>
  beforeAll(async () => {
    service = await startService({
      SMTP_URL: localServer(1),
      MAIL_FROM: sender,
      IDENTITY_PUBLIC_URL: 'https://id.example.org',
    })
    admin = await service.as(['ROLE_MANAGE_USER'])
  })
  afterAll(() => service?.stop())
  beforeEach(() => sql`delete from mails`.execute(service.db))

  const open: { stop(): Promise<void> }[] = []
  afterEach(() => Promise.all(open.splice(0).map((one) => one.stop())))

  const lines: string[] = []
  const senderDependencies = (send: Send, db = service.db) => ({
    db,
    config: service.config,
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
    send,
    answerPasswordReset: () => answerPasswordReset(db, service.config),
  })
  return {
    get service() {
      return service
    },
    get admin() {
      return admin
    },
    /** Starts an SMTP server, which stops after the test. */
    async startServer(options: Parameters<typeof startSmtp>[0] = {}) {
      const started = await startSmtp(options)
      open.push(started)
      return started
    },
    /** The log lines of the sending of mails. */
    lines,
    senderDependencies,
    sendMails: (port: number, more: Partial<Parameters<typeof createSmtpSender>[0]> = {}) =>
      sendQueuedMails(senderDependencies(createSmtpSender({ server: localServer(port), from: sender, ...more }))),
    invite: async () => (await admin.post('/users/invite').send(userBody()).expect(201)).body,
    mails: async () => (await admin.get('/mails').expect(200)).body,
    /** Makes all queued mails due now. */
    makeMailsDue: () => sql`update mails set next_try_at = now() where state = 'QUEUED'`.execute(service.db),
  }
}
