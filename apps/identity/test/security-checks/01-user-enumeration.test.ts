import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { drawCount } from '@sluice/testing/random-case-count'
import { hashPassword } from '../../src/sign-in/password/password-hashing.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'

let service: Service
let names: Record<string, string>
beforeAll(async () => {
  service = await startService()
  // At the product's own cost, which is also that of what an unknown user's password is compared with.
  const passwordHash = await hashPassword(goodPassword)
  const client = await service.client()
  const disabled = await service.client({ disabled: true })
  const name = async (about: Partial<Parameters<Service['user']>[0]>) =>
    (await service.user({ client, passwordHash, ...about })).username
  names = {
    active: await name({}),
    unknown: 'uabcdefabcdef',
    inactive: await name({ status: 'INACTIVE' }),
    'signs in elsewhere': await name({ ssoAuth: true }),
    invited: await name({ status: 'INVITATION' }),
    'of a disabled client': await name({ client: disabled }),
  }
})
afterAll(() => service.stop())

const ways = {
  login: {
    rounds: drawCount({ short: 30, long: 100 }),
    body: (username: string) => ({ username, password: 'not-the-right-one' }),
    path: '/api/v1/auth/login',
  },
  'a forgotten password': {
    rounds: drawCount({ short: 60, long: 200 }),
    body: (username: string) => ({ username }),
    path: '/api/v1/auth/forgot-password',
  },
}
type Way = (typeof ways)[keyof typeof ways]

const ask = (way: Way, username: string) => service.http.post(way.path).send(way.body(username))
/** Or the throttle would answer. */
const beginAnew = () => sql`delete from sign_in_attempts`.execute(service.db)

/** Milliseconds of each kind in each round. All kinds take turns in another order each time, so that load hits all alike. */
async function measured(way: Way): Promise<Record<string, number[]>> {
  const kinds = Object.keys(names)
  const times = Object.fromEntries(kinds.map((kind): [string, number[]] => [kind, []]))
  for (let round = 0; round < way.rounds; round++) {
    await beginAnew()
    for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
      const start = process.hrtime.bigint()
      await ask(way, names[kind]!)
      times[kind]!.push(Number(process.hrtime.bigint() - start) / 1e6)
    }
  }
  return times
}

/** How likely it is that one of `a` took longer than one of `b` (Mann and Whitney): 0.5 when nothing tells them apart. */
function superiority(a: readonly number[], b: readonly number[]): number {
  let wins = 0
  for (const x of a) for (const y of b) wins += x > y ? 1 : x === y ? 0.5 : 0
  return wins / (a.length * b.length)
}

/** Five standard deviations of the above, for as many samples of each. */
const chanceAlone = (samples: number): number => 5 / Math.sqrt(6 * samples)

const toldApart = (times: Record<string, number[]>): string[] =>
  Object.entries(times)
    .map(([kind, of]): [string, number] => [kind, superiority(of, times['active']!)])
    // Chance alone goes so far from the middle once in a million; one hash less goes to 0.
    .filter(([kind, chance]) => Math.abs(chance - 0.5) > chanceAlone(times[kind]!.length))
    .map(([kind, chance]) => `${kind}: ${chance.toFixed(2)}`)

describe.each(Object.entries(ways))('%s', (_name, way) => {
  it('is answered with the same words, whoever it is', async () => {
    await beginAnew()
    const answers = new Set<string>()
    for (const username of Object.values(names)) {
      const { status, body, headers } = await ask(way, username)
      const { requestId: _, ...document } = body
      const { date: __, 'x-request-id': ___, ...other } = headers
      answers.add(JSON.stringify([status, document, other]))
    }
    expect([...answers]).toHaveLength(1)
  })

  it('takes as long, whoever it is', async () => {
    const first = toldApart(await measured(way))
    // A difference that is real is there the second time too.
    const second = first.length > 0 ? toldApart(await measured(way)) : []
    expect(second).toEqual([])
  })
})

it('the test would tell a password that is not hashed from one that is', () => {
  const around = (middle: number) => Array.from({ length: 200 }, () => middle + 4 * Math.random())
  expect(superiority(around(3), around(20))).toBe(0)
  expect(Math.abs(superiority(around(20), around(20)) - 0.5)).toBeLessThan(chanceAlone(200))
})
