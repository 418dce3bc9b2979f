import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Role, TokenPair } from '@sluice/contracts'
import { clientBody, goodPassword, userBody } from '../app-under-test.ts'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-answer'
import { ask, startInstallation, type Installation } from '../real-processes.ts'
import { codeOf } from '../enrol-second-factor.ts'

let installation: Installation
let identity: string
let admin: string
beforeAll(async () => {
  installation = await startInstallation({ pipeline: true })
  identity = installation.identity[0]!
  const body = { username: 'admin', password: goodPassword }
  admin = (await ask(identity, 'POST', '/auth/login', { body })).body.accessToken
})
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

async function done(method: 'POST' | 'PUT' | 'DELETE', path: string, given: { token?: string; body?: object }) {
  const answer = await ask(identity, method, path, given)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const roles: Role[] = ['ROLE_SEE_SCHEMA', 'ROLE_SEE_VIEW']

/** Somebody of a client of their own with everything that can let them in: session, API token, half a sign-in. */
async function somebody() {
  const client = await done('POST', '/clients', { token: admin, body: clientBody() })
  const body = userBody({ password: goodPassword, auths: roles, client: { id: client.id } })
  const user = await done('POST', '/users', { token: admin, body })
  const login = { body: { username: body.username, password: goodPassword } }
  const tokens: TokenPair = await done('POST', '/auth/login', login)
  const { accessToken: token } = tokens
  const begun = await done('POST', '/users/me/second-factor', { token, body: { password: goodPassword } })
  await done('PUT', '/users/me/second-factor', { token, body: { code: codeOf(begun.secret) } })
  const apiToken = await done('POST', '/users/me/api-tokens', {
    token,
    body: {
      name: randomBytes(4).toString('hex'),
      roles,
      expires: new Date(Date.now() + 3_600_000).toISOString(),
      password: goodPassword,
    },
  })
  const half = await done('POST', '/auth/login', login)
  return {
    client,
    user,
    body,
    tokens,
    apiToken: apiToken.token as string,
    ticket: half.secondFactor.ticket as string,
    code: () => codeOf(begun.secret, 1),
  }
}
type Somebody = Awaited<ReturnType<typeof somebody>>

/** What takes somebody's ways in away, and what their API token is answered from then on. */
const reasons: Record<string, { bite(person: Somebody): Promise<unknown>; tokenStatus: number }> = {
  deactivated: {
    bite: ({ user }) => done('PUT', `/users/${user.id}/status`, { token: admin, body: { status: 'INACTIVE' } }),
    tokenStatus: 401,
  },
  'client disabled': {
    bite: ({ client }) => done('PUT', `/clients/${client.id}`, { token: admin, body: { ...client, disabled: true } }),
    tokenStatus: 401,
  },
  'role removed': {
    bite: ({ user, body: { password: _kept, ...body } }) =>
      done('PUT', `/users/${user.id}`, { token: admin, body: { ...body, auths: ['ROLE_SEE_VIEW'] } }),
    // It goes on with what is left.
    tokenStatus: 403,
  },
  'password changed': {
    bite: ({ user, body }) =>
      done('PUT', `/users/${user.id}`, { token: admin, body: { ...body, password: 'another-fine-phrase' } }),
    tokenStatus: 401,
  },
  'session and token ended by an administrator': {
    async bite({ user }) {
      await done('DELETE', `/users/${user.id}/sessions`, { token: admin })
      const { body } = await ask(identity, 'GET', `/users/${user.id}/api-tokens`, { token: admin })
      for (const { id } of body) await done('DELETE', `/users/${user.id}/api-tokens/${id}`, { token: admin })
    },
    tokenStatus: 401,
  },
}

const schemas = async (token: string) => (await ask(installation.pipeline, 'GET', '/schemas', { token })).status

it.each(Object.entries(reasons))(
  '%s: nothing new is given out at once, and nothing old opens a door within ten seconds',
  async (_reason, { bite, tokenStatus }) => {
    const [person, staying] = [await somebody(), await somebody()]
    const { accessToken, refreshToken } = person.tokens
    for (const token of [accessToken, person.apiToken, staying.apiToken]) expect(await schemas(token)).toBe(200)

    await bite(person)
    const since = Date.now()

    // Here at once.
    expect((await ask(identity, 'POST', '/auth/refresh', { body: { refreshToken } })).status).toBe(401)
    expect((await ask(identity, 'GET', '/users/me', { token: accessToken })).status).toBe(401)
    const me = await ask(identity, 'GET', '/users/me', { token: person.apiToken })
    expect(me.status).toBe(tokenStatus === 401 ? 401 : 200)
    const half = { ticket: person.ticket, code: person.code() }
    expect((await ask(identity, 'POST', '/auth/login/code', { body: half })).status).toBe(401)

    // There within ten seconds.
    const there = async () => `${await schemas(accessToken)} ${await schemas(person.apiToken)}`
    expect(await lastOtherAnswerMs(there, `401 ${tokenStatus}`, since)).toBeLessThan(10_000)
    expect([await schemas(staying.tokens.accessToken), await schemas(staying.apiToken)]).toEqual([200, 200])
  },
)
