import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import { freePort } from '@sluice/testing/free-port'
import { programArguments, programEnvironment } from '@sluice/testing/app-program-arguments'

let database: TestDatabase
let env: NodeJS.ProcessEnv
let port: number
beforeAll(async () => {
  database = await testDatabase()
  port = await freePort()
  env = {
    ...programEnvironment(),
    IDENTITY_DATABASE_URL: database.url,
    IDENTITY_PORT: String(port),
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: randomBytes(24).toString('hex'),
  }
})
afterAll(() => database.drop())

interface Ended {
  code: number | null
  out: string
  err: string
}

function start(command: string, more: NodeJS.ProcessEnv = {}): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, programArguments(`identity/bin/${command}.ts`), {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { out: '', err: '' }
  child.stdout!.on('data', (data) => (text.out += data))
  child.stderr!.on('data', (data) => (text.err += data))
  const ended = new Promise<Ended>((done) => child.once('close', (code) => done({ code, ...text })))
  return { child, ended }
}

const run = (command: string, more?: NodeJS.ProcessEnv) => start(command, more).ended

async function ready(): Promise<void> {
  const until = Date.now() + 120_000
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined)
    if (answer?.ok) return
    if (Date.now() > until) throw new Error('The service did not start.')
    await new Promise((soon) => setTimeout(soon, 50))
  }
}

const login = (username: string, password: string) =>
  fetch(`http://127.0.0.1:${port}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })

describe('the commands of the service', () => {
  it('list every invalid setting', async () => {
    const { code, err } = await run('serve', {
      SECRET_KEYS: 'nonsense',
      SERVICE_SECRET: 'short',
      IDENTITY_PORT: '70000',
    })
    expect(code).toBe(1)
    for (const name of ['SECRET_KEYS', 'SERVICE_SECRET', 'IDENTITY_PORT']) expect(err).toContain(name)
    expect(err).not.toContain('nonsense')
  })

  it('explain what to do when the database is missing or not migrated', async () => {
    expect(await run('serve')).toMatchObject({ code: 1, err: expect.stringContaining('run bin/migrate.ts') })
    const unreachableUrl = 'postgres://nobody:hush-hush@127.0.0.1:1/none'
    const { code, err } = await run('serve', { IDENTITY_DATABASE_URL: unreachableUrl })
    expect([code, err]).toEqual([1, expect.stringContaining('The database cannot be reached')])
    expect(err).not.toContain('hush-hush')
  })

  it('run each migration once when several processes migrate at once', async () => {
    const both = await Promise.all([run('migrate'), run('migrate')])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(both.map(({ out }) => out).toSorted()).toEqual([
      expect.stringMatching(/^Applied 0001_/),
      'The identity database is up to date.\n',
    ])
  })

  it('create the first admin and print the password once', async () => {
    expect((await run('create-first-admin', { SLUICE_ADMIN_PASSWORD: 'too-short' })).err).toContain('12 to 128')
    for (const weak of ['admin-sifts-41-pebbles', '5lu1ce-gate-at-dawn'])
      expect((await run('create-first-admin', { SLUICE_ADMIN_PASSWORD: weak })).err).toContain('the name of Sluice')
    const first = await run('create-first-admin')
    expect(first.code).toBe(0)
    const { username, password, ...rest } = JSON.parse(first.out)
    expect([username, password.length, rest]).toEqual(['admin', 29, {}])
    expect((await run('create-first-admin')).out).toBe('{"username":"admin"}\n')
    expect((await run('create-first-admin', { SLUICE_ADMIN_PASSWORD: 'another-fine-phrase' })).out).toBe(
      '{"username":"admin"}\n',
    )

    const { child, ended } = start('serve')
    await ready()
    expect((await login(username, password)).status).toBe(200)
    expect(await run('serve')).toMatchObject({ code: 1, err: expect.stringContaining(`Port ${port}`) })
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })

  it('finish running requests before they stop', async () => {
    const { child, ended } = start('serve', { LOG_LEVEL: 'info' })
    await ready()
    const requests = Array.from({ length: 20 }, (_, index) => login(`nobody-${index}`, 'some-wrong-password'))
    let answered = 0
    for (const request of requests) void request.then(() => (answered += 1)).catch(() => {})
    await Promise.race(requests)
    const answeredBefore = answered
    child.kill('SIGTERM')
    const answers = await Promise.all(
      requests.map((request) =>
        request.then(
          ({ status }) => status,
          () => 'lost',
        ),
      ),
    )
    const { code, out } = await ended
    expect(code).toBe(0)
    const logged = out.split('\n').filter((line) => line.includes('"operation":"auth.login"'))
    // Some requests were running when the process received the signal.
    expect(logged.length).toBeGreaterThan(answeredBefore)
    expect(logged.every((line) => !line.includes('"aborted":true'))).toBe(true)
    expect(answers.filter((status) => status === 401)).toHaveLength(logged.length)
    expect(out).not.toContain('some-wrong-password')
  })

  it('print the OpenAPI document without any setting', async () => {
    const { code, out } = await run('print-openapi', { IDENTITY_DATABASE_URL: '', SECRET_KEYS: '', SERVICE_SECRET: '' })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      openapi: '3.1.0',
      paths: { '/users/{uid}': { put: { operationId: 'users.update' } } },
    })
  })
})
