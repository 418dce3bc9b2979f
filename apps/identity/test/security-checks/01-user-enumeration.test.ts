import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { drawCount } from '@sluice/testing/random-case-count'
import { hashPassword } from '../../src/sign-in/password/password-hashing.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'

let service: Service
/** A username for each kind of account. */
let usernames: Record<string, string>
beforeAll(async () => {
  service = await startService()
  // With the hashing cost of production, which is also the cost of the dummy hash that is compared for an unknown user.
  const passwordHash = await hashPassword(goodPassword)
  const client = await service.client()
  const disabled = await service.client({ disabled: true })
  const createUser = async (changes: Partial<Parameters<Service['user']>[0]>) =>
    (await service.user({ client, passwordHash, ...changes })).username
  usernames = {
    active: await createUser({}),
    unknown: 'uabcdefabcdef',
    inactive: await createUser({ status: 'INACTIVE' }),
    'single sign-on': await createUser({ ssoAuth: true }),
    invited: await createUser({ status: 'INVITATION' }),
    'disabled organisation': await createUser({ client: disabled }),
  }
})
afterAll(() => service.stop())

const endpoints = {
  'a failed sign-in': {
    rounds: drawCount({ short: 30, long: 100 }),
    body: (username: string) => ({ username, password: 'not-the-right-one' }),
    path: '/api/v1/auth/login',
  },
  'a request for a password reset': {
    rounds: drawCount({ short: 60, long: 200 }),
    body: (username: string) => ({ username }),
    path: '/api/v1/auth/forgot-password',
  },
}
type Endpoint = (typeof endpoints)[keyof typeof endpoints]

const send = (endpoint: Endpoint, username: string) => service.http.post(endpoint.path).send(endpoint.body(username))
/** Without this, later requests would be throttled. */
const resetThrottle = () => sql`delete from sign_in_attempts`.execute(service.db)

/**
 * Response times in milliseconds, per kind of account. Each round has a random order, so that load affects all kinds
 * equally.
 */
async function measureTimes(endpoint: Endpoint): Promise<Record<string, number[]>> {
  const kinds = Object.keys(usernames)
  const times = Object.fromEntries(kinds.map((kind): [string, number[]] => [kind, []]))
  for (let round = 0; round < endpoint.rounds; round++) {
    await resetThrottle()
    for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
      const start = process.hrtime.bigint()
      await send(endpoint, usernames[kind]!)
      times[kind]!.push(Number(process.hrtime.bigint() - start) / 1e6)
    }
  }
  return times
}

/**
 * The probability that a sample of `a` is larger than a sample of `b` (Mann-Whitney): 0.5 if both have the same
 * distribution.
 */
function superiority(a: readonly number[], b: readonly number[]): number {
  let wins = 0
  for (const x of a) for (const y of b) wins += x > y ? 1 : x === y ? 0.5 : 0
  return wins / (a.length * b.length)
}

/** Five standard deviations of `superiority` for two equal distributions with this many samples each. */
const maximumDeviation = (samples: number): number => 5 / Math.sqrt(6 * samples)

/** The kinds of account whose response times differ from those of active accounts. */
const distinguishableKinds = (times: Record<string, number[]>): string[] =>
  Object.entries(times)
    .map(([kind, samples]): [string, number] => [kind, superiority(samples, times['active']!)])
    // Equal distributions exceed the limit once in a million measurements. A missing hash gives 0.
    .filter(([kind, chance]) => Math.abs(chance - 0.5) > maximumDeviation(times[kind]!.length))
    .map(([kind, chance]) => `${kind}: ${chance.toFixed(2)}`)

describe.each(Object.entries(endpoints))('%s', (_name, endpoint) => {
  it('gets the same response for every kind of account and for an unknown username', async () => {
    await resetThrottle()
    const answers = new Set<string>()
    for (const username of Object.values(usernames)) {
      const { status, body, headers } = await send(endpoint, username)
      const { requestId: _, ...document } = body
      const { date: __, 'x-request-id': ___, ...other } = headers
      answers.add(JSON.stringify([status, document, other]))
    }
    expect([...answers]).toHaveLength(1)
  })

  it('takes the same time for every kind of account and for an unknown username', async () => {
    const first = distinguishableKinds(await measureTimes(endpoint))
    // A real difference also appears in a second measurement.
    const second = first.length > 0 ? distinguishableKinds(await measureTimes(endpoint)) : []
    expect(second).toEqual([])
  })
})

it('the statistic separates responses that omit a hash, and not responses of the same duration', () => {
  const around = (middle: number) => Array.from({ length: 200 }, () => middle + 4 * Math.random())
  expect(superiority(around(3), around(20))).toBe(0)
  expect(Math.abs(superiority(around(20), around(20)) - 0.5)).toBeLessThan(maximumDeviation(200))
})
