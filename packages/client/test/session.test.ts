import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import type { Tokens } from '../src/generated/identity.ts'
import { schemas } from '../src/generated/pipeline.ts'
import { renewedToken, SecondFactorRequired, serviceClient, sessionFromTokens, signIn } from '../src/index.ts'
import { type Behaviour, json, problem, reset, scriptedServer } from './scripted-server.ts'

const tokens = (number: number, expiresIn = 300): Tokens => ({
  accessToken: `access-${number}`,
  refreshToken: `refresh-token-number-${number}`,
  tokenType: 'Bearer',
  expiresIn,
  refreshTokenExpires: '2030-01-01T00:00:00.000Z',
})

const user = { username: 'ada', password: 'a long password' }

/** Only the date is that of the test; requests take real time. */
beforeEach(
  () =>
    void jest.useFakeTimers({
      doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'],
    }),
)
afterEach(() => void jest.useRealTimers())

it('signs in and gives its token to other clients', async () => {
  await using identity = await scriptedServer(json(200, tokens(1)))
  await using pipeline = await scriptedServer(json(200, []))
  const session = await signIn({ identityUrl: identity.url, ...user })
  await serviceClient({ baseUrl: pipeline.url, token: session.token }).call(schemas.list)
  expect(identity.asked.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([['/api/v1/auth/login', user]])
  expect(pipeline.asked[0]?.headers.authorization).toBe('Bearer access-1')
})

it('throws SecondFactorRequired, and completes the sign-in with the second code after a wrong one', async () => {
  const demand = { secondFactor: { ticket: 'a-ticket-of-twenty-letters', methods: ['TOTP', 'RECOVERY_CODE'] } }
  await using identity = await scriptedServer(json(200, demand), problem(401, 'unauthenticated'), json(200, tokens(7)))
  const required = await signIn({ identityUrl: identity.url, ...user }).catch((error: unknown) => error)
  if (!(required instanceof SecondFactorRequired)) throw required
  expect(required.methods).toEqual(['TOTP', 'RECOVERY_CODE'])
  await expect(required.confirm('000000')).rejects.toMatchObject({ name: 'RemoteProblem', status: 401 })
  expect(await (await required.confirm('123456')).token()).toBe('access-7')
  expect(JSON.parse(identity.asked[2]!.body)).toEqual({ ticket: demand.secondFactor.ticket, code: '123456' })
})

it('renews the token once for all concurrent requests, in the last minute of its validity', async () => {
  await using identity = await scriptedServer(json(200, tokens(2)))
  const session = sessionFromTokens(identity.url, tokens(1))
  jest.advanceTimersByTime(239_000)
  expect(await session.token()).toBe('access-1')
  expect(identity.asked).toHaveLength(0)
  jest.advanceTimersByTime(2_000)
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => session.token())))).toEqual(new Set(['access-2']))
  expect(identity.asked.map(({ body }) => body)).toEqual(['{"refreshToken":"refresh-token-number-1"}'])
})

it('renews with the refresh token of the last renewal', async () => {
  await using identity = await scriptedServer(json(200, tokens(2)), json(200, tokens(3)))
  const session = sessionFromTokens(identity.url, tokens(1))
  for (const expected of ['access-2', 'access-3']) {
    jest.advanceTimersByTime(301_000)
    expect(await session.token()).toBe(expected)
  }
  expect(JSON.parse(identity.asked[1]!.body)).toEqual({ refreshToken: 'refresh-token-number-2' })
})

/** Accepts only this token. */
const accepting =
  (token: string): Behaviour =>
  (response, request) =>
    request.headers.authorization === `Bearer ${token}`
      ? json(200, [])(response, request)
      : problem(401, 'unauthenticated')(response, request)

it('renews the token and repeats the requests when a service rejects a token that seems valid', async () => {
  await using identity = await scriptedServer(json(200, tokens(2)))
  await using pipeline = await scriptedServer(accepting('access-2'))
  const session = sessionFromTokens(identity.url, tokens(1))
  const client = serviceClient({ baseUrl: pipeline.url, token: session.token })
  const answers = await Promise.all(Array.from({ length: 10 }, () => client.call(schemas.list)))
  expect(answers).toEqual(Array.from({ length: 10 }, () => []))
  expect(identity.asked).toHaveLength(1)
})

it('repeats a rejected request once, and throws the rejection of the new token', async () => {
  await using identity = await scriptedServer(json(200, tokens(2)))
  await using pipeline = await scriptedServer(problem(401, 'unauthenticated'))
  const session = sessionFromTokens(identity.url, tokens(1))
  const client = serviceClient({ baseUrl: pipeline.url, token: session.token })
  await expect(client.call(schemas.list)).rejects.toMatchObject({ name: 'RemoteProblem', status: 401 })
  expect([pipeline.asked.length, identity.asked.length]).toEqual([2, 1])
})

it('does not repeat a request with a fixed token, or one that a wrong password caused', async () => {
  await using server = await scriptedServer(problem(401, 'unauthenticated'))
  const client = serviceClient({ baseUrl: server.url, token: 'sla_fixed' })
  await expect(client.call(schemas.list)).rejects.toMatchObject({ status: 401 })
  await expect(signIn({ identityUrl: server.url, ...user })).rejects.toMatchObject({ status: 401 })
  expect(server.asked).toHaveLength(2)
})

it('throws the refusal of the renewal when the session has ended', async () => {
  await using identity = await scriptedServer(problem(401, 'unauthenticated'))
  const session = sessionFromTokens(identity.url, tokens(1))
  jest.advanceTimersByTime(400_000)
  await expect(session.token()).rejects.toMatchObject({ name: 'RemoteProblem', status: 401 })
})

it('uses the held token until it expires while the identity service is unreachable', async () => {
  await using identity = await scriptedServer(reset)
  const session = sessionFromTokens(identity.url, tokens(1))
  jest.advanceTimersByTime(250_000)
  expect(await session.token()).toBe('access-1')
  jest.advanceTimersByTime(60_000)
  await expect(session.token()).rejects.toMatchObject({ name: 'ServiceUnavailable', reason: 'unreachable' })
  identity.now(json(200, tokens(2)))
  expect(await session.token()).toBe('access-2')
})

it('ends the session, even one that the service has ended already', async () => {
  await using identity = await scriptedServer((response) => response.writeHead(204).end())
  const session = sessionFromTokens(identity.url, tokens(1))
  await session.signOut()
  await session.signOut()
  expect(identity.asked.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ['/api/v1/auth/logout', 'Bearer access-1'],
  ])
  await expect(session.token()).rejects.toThrow('This session has ended. Sign in again.')

  identity.now(problem(401, 'unauthenticated'))
  await sessionFromTokens(identity.url, tokens(2)).signOut()
})

it('renewedToken obtains its first token when it is needed', async () => {
  let calls = 0
  const token = renewedToken(() => Promise.resolve({ accessToken: `t${++calls}`, expiresIn: 10 }))
  expect([await token(), await token()]).toEqual(['t1', 't1'])
  jest.advanceTimersByTime(5_001)
  expect(await token()).toBe('t2')
})
