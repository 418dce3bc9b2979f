import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Role, TokenPair } from '@sluice/contracts'
import { clientBody, goodPassword, userBody } from '../app-under-test.ts'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { sendRequest, startInstallation, type Installation } from '../start-real-processes.ts'
import { totpCode } from '../enrol-second-factor.ts'

let installation: Installation
let identity: string
let admin: string
beforeAll(async () => {
  installation = await startInstallation({ pipeline: true })
  identity = installation.identity[0]!
  const body = { username: 'admin', password: goodPassword }
  admin = (await sendRequest(identity, 'POST', '/auth/login', { body })).body.accessToken
})
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

async function sendOrThrow(method: 'POST' | 'PUT' | 'DELETE', path: string, given: { token?: string; body?: object }) {
  const answer = await sendRequest(identity, method, path, given)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const roles: Role[] = ['ROLE_SEE_SCHEMA', 'ROLE_SEE_VIEW']

/** Creates a user of a new client with a session, an API token and a second-factor ticket. */
async function createPerson() {
  const client = await sendOrThrow('POST', '/clients', { token: admin, body: clientBody() })
  const body = userBody({ password: goodPassword, auths: roles, client: { id: client.id } })
  const user = await sendOrThrow('POST', '/users', { token: admin, body })
  const login = { body: { username: body.username, password: goodPassword } }
  const tokens: TokenPair = await sendOrThrow('POST', '/auth/login', login)
  const { accessToken: token } = tokens
  const enrolment = await sendOrThrow('POST', '/users/me/second-factor', { token, body: { password: goodPassword } })
  await sendOrThrow('PUT', '/users/me/second-factor', { token, body: { code: totpCode(enrolment.secret) } })
  const apiToken = await sendOrThrow('POST', '/users/me/api-tokens', {
    token,
    body: {
      name: randomBytes(4).toString('hex'),
      roles,
      expires: new Date(Date.now() + 3_600_000).toISOString(),
      password: goodPassword,
    },
  })
  const pendingSignIn = await sendOrThrow('POST', '/auth/login', login)
  return {
    client,
    user,
    body,
    tokens,
    apiToken: apiToken.token as string,
    ticket: pendingSignIn.secondFactor.ticket as string,
    code: () => totpCode(enrolment.secret, 1),
  }
}
type Person = Awaited<ReturnType<typeof createPerson>>

/** Events that end the access of a user, and the status that the API token gets afterwards. */
const events: Record<string, { trigger(person: Person): Promise<unknown>; tokenStatus: number }> = {
  'the user is deactivated': {
    trigger: ({ user }) =>
      sendOrThrow('PUT', `/users/${user.id}/status`, { token: admin, body: { status: 'INACTIVE' } }),
    tokenStatus: 401,
  },
  'the organisation is disabled': {
    trigger: ({ client }) =>
      sendOrThrow('PUT', `/clients/${client.id}`, { token: admin, body: { ...client, disabled: true } }),
    tokenStatus: 401,
  },
  'a role is removed': {
    trigger: ({ user, body: { password: _kept, ...body } }) =>
      sendOrThrow('PUT', `/users/${user.id}`, { token: admin, body: { ...body, auths: ['ROLE_SEE_VIEW'] } }),
    // The API token stays valid with the remaining roles.
    tokenStatus: 403,
  },
  'the password is changed': {
    trigger: ({ user, body }) =>
      sendOrThrow('PUT', `/users/${user.id}`, { token: admin, body: { ...body, password: 'another-fine-phrase' } }),
    tokenStatus: 401,
  },
  'an administrator ends the session and the token': {
    async trigger({ user }) {
      await sendOrThrow('DELETE', `/users/${user.id}/sessions`, { token: admin })
      const { body } = await sendRequest(identity, 'GET', `/users/${user.id}/api-tokens`, { token: admin })
      for (const { id } of body) await sendOrThrow('DELETE', `/users/${user.id}/api-tokens/${id}`, { token: admin })
    },
    tokenStatus: 401,
  },
}

const schemas = async (token: string) => (await sendRequest(installation.pipeline, 'GET', '/schemas', { token })).status

it.each(Object.entries(events))(
  'when %s, the identity service refuses access immediately and the pipeline service within ten seconds',
  async (_event, { trigger, tokenStatus }) => {
    const [person, unaffected] = [await createPerson(), await createPerson()]
    const { accessToken, refreshToken } = person.tokens
    for (const token of [accessToken, person.apiToken, unaffected.apiToken]) expect(await schemas(token)).toBe(200)

    await trigger(person)
    const since = Date.now()

    // In the identity service.
    expect((await sendRequest(identity, 'POST', '/auth/refresh', { body: { refreshToken } })).status).toBe(401)
    expect((await sendRequest(identity, 'GET', '/users/me', { token: accessToken })).status).toBe(401)
    const me = await sendRequest(identity, 'GET', '/users/me', { token: person.apiToken })
    expect(me.status).toBe(tokenStatus === 401 ? 401 : 200)
    const completion = { ticket: person.ticket, code: person.code() }
    expect((await sendRequest(identity, 'POST', '/auth/login/code', { body: completion })).status).toBe(401)

    // In the pipeline service.
    const statuses = async () => `${await schemas(accessToken)} ${await schemas(person.apiToken)}`
    expect(await lastOtherAnswerMs(statuses, `401 ${tokenStatus}`, since)).toBeLessThan(10_000)
    expect([await schemas(unaffected.tokens.accessToken), await schemas(unaffected.apiToken)]).toEqual([200, 200])
  },
)
