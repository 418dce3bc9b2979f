import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect, type DatabaseConnection } from '@sluice/database'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import type { DB } from '../../src/database.ts'
import { migrationsFolder } from '../../src/migrations.ts'
import { goodPassword, userBody } from '../app-under-test.ts'
import { freePort } from '@sluice/testing/free-port'
import { programArguments, programEnvironment } from '@sluice/testing/app-program-arguments'
import { startSmtp, type ReceivedMail } from '@sluice/testing/smtp'

let database: TestDatabase
let connection: DatabaseConnection<DB>
let mailbox: Awaited<ReturnType<typeof startSmtp>>
let env: NodeJS.ProcessEnv
/** Runs before the SMTP server accepts a mail. */
let beforeAccepting: (mail: ReceivedMail) => Promise<void> = async () => {}
const started: ChildProcess[] = []
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  connection = connect<DB>(database.url, { name: 'identity-test' })
  mailbox = await startSmtp({
    async answer(mail) {
      await beforeAccepting(mail)
      return undefined
    },
  })
  env = {
    ...programEnvironment(),
    IDENTITY_DATABASE_URL: database.url,
    IDENTITY_PUBLIC_URL: 'https://id.example.org',
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: randomBytes(24).toString('hex'),
    SLUICE_ADMIN_PASSWORD: goodPassword,
    SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`,
    MAIL_FROM: 'Sluice <no-reply@example.org>',
  }
  expect(await begin('create-first-admin').code).toBe(0)
})
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  await mailbox.stop()
  await connection.db.destroy()
  await database.drop()
})

function begin(command: string, more: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, programArguments(`identity/bin/${command}.ts`), {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => void (output += data))
  started.push(child)
  return { child, output: () => output, code: once(child, 'close').then(([code]) => code as number | null) }
}

async function serve() {
  const port = await freePort()
  const program = begin('serve', { IDENTITY_PORT: String(port) })
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.ok === true, program.output)
  const ask = async (path: string, body: object, token?: string) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return {
      status: answer.status,
      body: answer.status === 204 ? {} : ((await answer.json()) as { accessToken?: string }),
    }
  }
  const invite = async () => {
    const { body } = await ask('/auth/login', { username: 'admin', password: goodPassword })
    expect((await ask('/users/invite', userBody(), body.accessToken)).status).toBe(201)
  }
  return { ...program, url, ask, invite }
}

async function until(met: () => Promise<boolean>, output = () => ''): Promise<void> {
  for (const end = Date.now() + 240_000; !(await met()); await sleep(50))
    if (Date.now() > end) throw new Error(`The condition was not met in 240 seconds.\n${output()}`)
}

const states = async () =>
  (await sql<{ state: string }>`select state from mails order by id`.execute(connection.db)).rows.map(
    ({ state }) => state,
  )
const ids = () => mailbox.received.map(({ headers }) => headers['message-id'])

it('the service refuses to start for SMTP_URL without MAIL_FROM or an invalid SMTP_URL, and hides the password', async () => {
  const without = begin('serve', { MAIL_FROM: '' })
  expect([await without.code, without.output()]).toEqual([1, expect.stringContaining('MAIL_FROM')])
  const wrong = begin('serve', { SMTP_URL: 'smtp://user:hush-hush-hush@mail?tls=off' })
  expect([await wrong.code, wrong.output()]).toEqual([1, expect.stringContaining('SMTP_URL')])
  expect(wrong.output()).not.toContain('hush-hush')
})

it('the service mails invitations and password resets at once', async () => {
  const { url, child, code, ask, invite, output } = await serve()
  await invite()
  await until(async () => mailbox.received.length === 1, output)
  expect((await ask('/auth/forgot-password', { username: 'admin' })).status).toBe(204)
  await until(async () => mailbox.received.length === 2, output)
  expect(mailbox.received.map(({ headers }) => headers['subject'])).toEqual([
    'Your invitation to Sluice',
    'Choose a new Sluice password',
  ])
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toMatch(/identity_mail_tries_total\{outcome="sent".*\} 2/)
  child.kill('SIGTERM')
  expect(await code).toBe(0)
  expect(output()).not.toContain('token=')
})

it('another process sends the mail of a killed process with the same message id', async () => {
  await sql`delete from mails`.execute(connection.db)
  const earlier = mailbox.received.length
  const accepted: ReceivedMail[] = []
  const killed = Promise.withResolvers<void>()
  beforeAccepting = async (mail) => {
    accepted.push(mail)
    // The sending process is killed before it receives the response for the first mail.
    if (accepted.length === 1) await killed.promise
  }
  const first = await serve()
  await first.invite()
  await until(async () => accepted.length === 1, first.output)
  first.child.kill('SIGKILL')
  await first.code
  killed.resolve()
  expect(await states()).toEqual(['QUEUED'])

  const second = await serve()
  // The second process sends new mails, but not a mail that another process may still be sending.
  await second.invite()
  await until(async () => (await states())[1] === 'SENT', second.output)
  expect(accepted).toHaveLength(2)
  // Simulates the end of the five minutes in which the first process might still be sending.
  await sql`update mails set next_try_at = now()`.execute(connection.db)
  await until(async () => (await states())[0] === 'SENT', second.output)
  const [lost, other, resent] = accepted.map(({ headers }) => headers['message-id'])
  expect([accepted.length, resent]).toEqual([3, lost])
  expect(other).not.toBe(lost)
  second.child.kill('SIGTERM')
  expect(await second.code).toBe(0)
  expect(ids().slice(earlier).length).toBeGreaterThan(0)
})
