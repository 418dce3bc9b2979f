import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { pino } from 'pino'
import { sendQueuedMails } from '../../src/email/send-queued-mails.ts'
import { createSmtpSender } from '@sluice/mail'
import { answerPasswordReset } from '../../src/sign-in/password/password-reset-requests.ts'
import { goodPassword, startService, userBody, type Service } from '../app-under-test.ts'
import { linkFor, tokenIn } from '../mailed-links.ts'
import { startSmtp } from '@sluice/testing/smtp'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
let mailbox: Awaited<ReturnType<typeof startSmtp>>
beforeAll(async () => {
  mailbox = await startSmtp()
  const server = { host: '127.0.0.1', port: mailbox.port, secure: false, user: undefined, password: undefined }
  service = await startService({ SMTP_URL: server, MAIL_FROM: { name: '', address: 'no-reply@example.org' } })
  admin = await service.as(['ROLE_MANAGE_USER'])
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

const password = 'otters-juggle-17-plums'
const post = (path: string, body: object) => service.http.post(`/api/v1/auth/${path}`).send(body)
const expire = (user: string, by: string) =>
  sql`update links set expires_at = created_at + ${by}::interval where user_id = (select id from users where uid = ${user})`.execute(
    service.db,
  )

describe.each([
  { purpose: 'INVITATION', path: 'accept-invitation', status: 'INVITATION', hours: 168 },
  { purpose: 'PASSWORD_RESET', path: 'reset-password', status: 'ACTIVE', hours: 1 },
] as const)('a link with the purpose $purpose', ({ purpose, path, status, hours }) => {
  const createUser = () => service.user({ client: admin.client, status })

  it('works for exactly one of 32 concurrent uses, and only for its user', async () => {
    const [user, bystander] = [await createUser(), await createUser()]
    const token = await linkFor(service, user.uid, purpose)
    const before = await hashOf(bystander.uid)
    const answers = await Promise.all(Array.from({ length: 32 }, () => post(path, { token, password })))
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length
    expect(count(204)).toBe(1)
    expect(count(422) + count(503)).toBe(31)
    await post(path, { token, password }).expect(422)
    await service.signIn(user.username, password)
    expect(await hashOf(bystander.uid)).toBe(before)
  })

  it(`expires after ${hours} hours`, async () => {
    const { uid } = await createUser()
    const token = await linkFor(service, uid, purpose)
    const { rows } = await sql<{ hours: number }>`
      select extract(epoch from l.expires_at - l.created_at)::float8 / 3600 as hours
      from links l join users u on u.id = l.user_id where u.uid = ${uid}`.execute(service.db)
    expect(rows[0]!.hours).toBeCloseTo(hours, 3)
    await expire(uid, '0 seconds')
    await post(path, { token, password }).expect(422)
  })

  it('does not work with a changed token, and the error is the same as for an unknown token', async () => {
    const token = await linkFor(service, (await createUser()).uid, purpose)
    const other = (letter: string) => (letter === 'A' ? 'B' : 'A')
    const texts = new Set<string>()
    for (const wrong of [
      `${token}A`,
      token.slice(0, -2),
      other(token[9]!) + token,
      token.toUpperCase(),
      'x'.repeat(47),
    ]) {
      const { body } = await post(path, { token: wrong, password }).expect(422)
      texts.add(`${body.code} ${body.detail} ${JSON.stringify(body.errors)}`)
    }
    expect(texts.size).toBe(1)
    await post(path, { token, password }).expect(204)
  })
})

async function hashOf(uid: string): Promise<string | null> {
  const { rows } = await sql<{
    password_hash: string | null
  }>`select password_hash from users where uid = ${uid}`.execute(service.db)
  return rows[0]!.password_hash
}

it('a NUL byte in any field returns 400', async () => {
  const token = 'x'.repeat(40)
  for (const [path, body] of [
    ['login', { username: 'a\0b', password }],
    ['login', { username: 'ab', password: 'a\0b' }],
    ['forgot-password', { username: 'a\0b' }],
    ['accept-invitation', { token: `${token}\0`, password }],
    ['reset-password', { token, password: `${password}\0` }],
  ] as const)
    expect([path, (await post(path, body)).status]).toEqual([path, 400])
})

it('a line break in an input creates no separate line in the log', async () => {
  const forged = '\r\n{"level":30,"msg":"request","user":"forged"}'
  await post('login', { username: `nobody${forged}`, password })
  await post('forgot-password', { username: `nobody${forged}` })
  await service.http.get(`/api/v1/users/${encodeURIComponent(forged)}`).set('user-agent', 'x')
  for (const line of service.lines) {
    expect(line.trimEnd()).not.toMatch(/[\r\n]/)
    expect(JSON.parse(line).user).not.toBe('forged')
  }
})

it('no response, log line, audit entry or database row contains a plain link or password', async () => {
  const dependencies = {
    answerPasswordReset: () => answerPasswordReset(service.db, service.config),
    db: service.db,
    config: service.config,
    logger: pino({}, { write: (line: string) => void service.lines.push(line) }),
    send: createSmtpSender({ server: service.config.SMTP_URL!, from: service.config.MAIL_FROM! }),
  }
  const answers: string[] = []
  const keep = async <T extends { text: string; headers: object }>(request: PromiseLike<T>): Promise<T> => {
    const answer = await request
    answers.push(answer.text, JSON.stringify(answer.headers))
    return answer
  }
  const secrets = ['one', 'two', 'three', 'four'].map((word) => `secret-${word}-otters-juggle`)
  const [first, second, third, mistaken] = secrets as [string, string, string, string]
  const sent = userBody()
  const { body } = await keep(admin.post('/users/invite').send(sent).expect(201))
  const readAllRows = async () => {
    const tables = await sql<{ name: string }>`
      select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`.execute(
      service.db,
    )
    const texts = []
    for (const { name } of tables.rows)
      texts.push(
        ...(await sql<{ row: string }>`select t::text as row from ${sql.table(name)} t`.execute(service.db)).rows,
      )
    return texts.map(({ row }) => row).join('\n')
  }
  const rowsWithQueuedInvitation = await readAllRows()
  while (await sendQueuedMails(dependencies));
  const newestMail = () => mailbox.received.findLast(({ to }) => to.includes(sent.email))!.text

  const invitation = tokenIn(newestMail())
  await keep(post('accept-invitation', { token: invitation, password: 'Password12345' }).expect(422))
  await keep(post('accept-invitation', { token: invitation, password: first }).expect(204))
  await keep(service.http.get(`/account/invitation?token=${invitation}`))
  await keep(post('forgot-password', { username: mistaken }).expect(204))
  await keep(post('forgot-password', { username: sent.email }).expect(204))
  while (await answerPasswordReset(service.db, service.config));
  const rowsWithQueuedReset = await readAllRows()
  while (await sendQueuedMails(dependencies));
  const reset = tokenIn(newestMail())
  // This page is not kept, because its form contains the token of the link.
  await service.http.get(`/account/password?token=${reset}`).expect('referrer-policy', 'no-referrer')
  await keep(service.http.get(`/api/v1/nothing?token=${reset}`).set('referer', `http://localhost/?token=${reset}`))
  await keep(post('reset-password', { token: reset, password: second }).expect(204))
  const me = service.withToken((await service.signIn(sent.username, second)).accessToken)
  await keep(me.put('/users/me/password').send({ currentPassword: second, newPassword: third }).expect(204))
  await keep(me.put('/users/me/password').send({ currentPassword: first, newPassword: goodPassword }).expect(422))
  for (const path of [`/users/${body.id}`, '/users', '/mails', `/mails?filter=user.id:eq:${body.id}`])
    await keep(admin.get(path))

  const audit = await sql<{ row: string }>`select a::text as row from audit a`.execute(service.db)
  const outputs = [...answers, ...service.lines, ...audit.rows.map(({ row }) => row)].join('\n')
  const stored = [rowsWithQueuedInvitation, rowsWithQueuedReset, await readAllRows()].join('\n')
  expect(stored).toContain('$argon2id$')
  for (const secret of [...secrets, invitation, reset]) {
    expect(outputs).not.toContain(secret)
    expect(stored).not.toContain(secret)
  }
  expect(outputs).not.toContain('$argon2')
})
