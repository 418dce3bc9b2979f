import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { sql } from 'kysely'
import * as client from 'openid-client'
import {
  forgetPreviousKeys,
  rotateKeys,
  rotateDueKeys,
  type KeyRotation,
} from '../../src/sign-in/tokens/key-rotation.ts'
import { createSigningKeys } from '../../src/sign-in/tokens/signing-keys.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
let rotation: KeyRotation
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
  rotation = { ring: service.config.SECRET_KEYS, days: 90, daysKept: 31 }
})
afterAll(() => service.stop())

const states = async () =>
  (await sql<{ state: string }>`select state from signing_keys order by state`.execute(service.db)).rows.map(
    ({ state }) => state,
  )
const kidsIn = async (state: string) =>
  (await sql<{ kid: string }>`select kid from signing_keys where state = ${state}`.execute(service.db)).rows.map(
    ({ kid }) => kid,
  )
const age = (state: string, days: number) =>
  sql`update signing_keys set state_since = now() - make_interval(days => ${days}) where state = ${state}`.execute(
    service.db,
  )
const published = async () =>
  ((await service.http.get('/.well-known/jwks.json').expect(200)).body.keys as { kid: string }[]).map(({ kid }) => kid)

let skippedMs = 0
const now = performance.now.bind(performance)
beforeAll(() => {
  performance.now = () => now() + skippedMs
})
afterAll(() => {
  performance.now = now
})

/**
 * Moves the clock of this process forward until its cached keys, which are valid for a minute, have been read again.
 */
async function expireCachedKeys(): Promise<void> {
  const { rows } = await sql<{ kid: string }>`select kid from signing_keys order by kid`.execute(service.db)
  do skippedMs += 61_000
  while (rows.map(({ kid }) => kid).join() !== (await published()).toSorted().join() && (await shortPause()))
  // After ten minutes, a request waits for the keys to be read. The first one may get a read that started earlier.
  for (const _ of [1, 2]) {
    skippedMs += 601_000
    await published()
  }
}

const shortPause = () => new Promise((resolve) => setTimeout(() => resolve(true), 20))

describe('signing keys', () => {
  it('are published before they sign, sign for 90 days, and stay published for 31 more days', async () => {
    await sql`delete from signing_keys`.execute(service.db)
    await rotateDueKeys(service.db, rotation)
    expect(await states()).toEqual([])
    const { kid: first } = await createSigningKeys(service.db, rotation.ring).current()
    await rotateDueKeys(service.db, rotation)
    await rotateDueKeys(service.db, rotation)
    expect(await states()).toEqual(['CURRENT', 'NEXT'])
    const [next] = await kidsIn('NEXT')

    await age('CURRENT', 91)
    // The next key does not sign yet, because it was published less than an hour ago.
    await rotateDueKeys(service.db, rotation)
    expect(await kidsIn('CURRENT')).toEqual([first])
    await age('NEXT', 1)
    await rotateDueKeys(service.db, { ...rotation, days: 0 })
    expect(await kidsIn('CURRENT')).toEqual([first])
    await rotateDueKeys(service.db, rotation)
    expect(await kidsIn('CURRENT')).toEqual([next])
    expect(await kidsIn('PREVIOUS')).toEqual([first])
    expect(await states()).toEqual(['CURRENT', 'NEXT', 'PREVIOUS'])

    await age('PREVIOUS', 30)
    await rotateDueKeys(service.db, rotation)
    expect(await kidsIn('PREVIOUS')).toEqual([first])
    await age('PREVIOUS', 32)
    await rotateDueKeys(service.db, rotation)
    expect(await states()).toEqual(['CURRENT', 'NEXT'])
    await expireCachedKeys()
  })

  it('are rotated once by concurrent processes', async () => {
    await age('CURRENT', 91)
    await age('NEXT', 91)
    await Promise.all(Array.from({ length: 8 }, () => rotateDueKeys(service.db, rotation)))
    expect(await states()).toEqual(['CURRENT', 'NEXT', 'PREVIOUS'])
  })

  it('are rotated by the operator after the next key was published, or immediately with force', async () => {
    expect(await rotateKeys(service.db, rotation.ring)).toMatchObject({
      outcome: 'published',
      signsFrom: expect.any(Date),
    })
    const [next] = await kidsIn('NEXT')
    expect(await rotateKeys(service.db, rotation.ring, { immediately: true })).toEqual({
      outcome: 'rotated',
      kid: next,
    })
    expect(await kidsIn('CURRENT')).toEqual([next])
    await expireCachedKeys()
  })
})

describe('a rotation', () => {
  const rotate = async () => {
    await rotateKeys(service.db, rotation.ring, { immediately: true })
    await expireCachedKeys()
  }

  it('does not interrupt sign-ins, refreshes and existing tokens', async () => {
    const user = await party.user()
    const { tokens: before } = await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const browser = party.browser()
    const { url, finish } = await party.begin({ scope: 'openid ROLE_SEE_VIEW' })
    const form = await browser.open(url)
    await rotate()
    const another = await party.user()
    const question = await browser.submit(form, { username: another.username, password: goodPassword })
    await rotate()
    const page = await browser.submit(question, { decision: 'allow' })
    await rotate()
    const after = await finish(page)
    expect(decodeProtectedHeader(after.access_token).kid).toBe((await kidsIn('CURRENT'))[0])
    expect(decodeProtectedHeader(after.id_token!).kid).toBe((await kidsIn('CURRENT'))[0])
    await service.withToken(before.access_token).get('/users/me').expect(200)
    await service.withToken(after.access_token).get('/users/me').expect(200)
    await client.refreshTokenGrant(party.config, before.refresh_token!)
    expect(await published()).toEqual(expect.arrayContaining([decodeProtectedHeader(before.access_token).kid]))
  })

  it('does not fail sign-ins that run while keys are rotated repeatedly', async () => {
    const users = await Promise.all(Array.from({ length: 6 }, () => party.user()))
    const signIns = new AbortController()
    const rotations = (async () => {
      while (!signIns.signal.aborted) await rotate()
    })()
    try {
      await Promise.all(users.map(({ username }) => party.signIn(username, { scope: 'openid ROLE_SEE_VIEW' })))
    } finally {
      signIns.abort()
      await rotations
    }
  })

  it('invalidates the tokens of previous keys when they are withdrawn', async () => {
    const { tokens } = await party.signIn((await party.user()).username, { scope: 'openid ROLE_SEE_VIEW' })
    await rotate()
    expect(await forgetPreviousKeys(service.db)).toBeGreaterThan(0)
    await expireCachedKeys()
    await service.withToken(tokens.access_token).get('/users/me').expect(401)
  })
})

it('another process signs with the new key within a minute of its rotation', async () => {
  const other = createSigningKeys(service.db, rotation.ring)
  await other.current()
  await rotateKeys(service.db, rotation.ring, { immediately: true })
  const [kid] = await kidsIn('CURRENT')
  expect((await other.current()).kid).not.toBe(kid)
  skippedMs += 61_000
  while ((await other.current()).kid !== kid) await new Promise((resolve) => setTimeout(resolve, 20))
})
