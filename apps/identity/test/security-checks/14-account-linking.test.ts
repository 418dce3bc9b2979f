import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, type Service } from '../app-under-test.ts'
import { startTestProvider, type TestProvider } from '../federated/identity-provider-stand-in.ts'
import {
  startSignIn,
  createClientAt,
  requestCallback,
  followRedirect,
  signInAtProvider,
  createSsoUser,
  startServiceBesideProviders,
} from '../federated/federated-sign-in-setup.ts'

let service: Service
let provider: TestProvider
beforeAll(async () => {
  service = await startServiceBesideProviders()
  provider = await startTestProvider()
})
afterAll(async () => {
  await provider.stop()
  await service.stop()
})
beforeEach(() => {
  provider.misbehaviour = {}
})

const countUsers = async () =>
  (await sql<{ n: number }>`select count(*)::int as n from users`.execute(service.db)).rows[0]!.n
const refused = { status: 401, code: 'sign-in-failed' }
async function outcome(code: string) {
  const { status, body } = await signInAtProvider(service, code)
  return { status, code: body.code as string | undefined }
}

describe('a person at the provider is not linked to a user', () => {
  it.each([true, false, undefined])('by an equal e-mail address (email_verified %s)', async (email_verified) => {
    const { client, code } = await createClientAt(service, provider.issuer)
    const email = 'victim@example.org'
    const victim = await createSsoUser(service, { client, ssoId: 'victim', email })
    await service.user({ client, username: `${randomUUID()}@example.org` })
    const before = await countUsers()
    provider.person = { sub: 'attacker', email, email_verified, preferred_username: victim.username, name: 'Test' }
    expect(await outcome(code)).toEqual(refused)
    expect(await countUsers()).toBe(before)
    expect(await auditOf(service.db, victim.uid)).toEqual([])
  })

  it('by an unverified e-mail address, if the mapping claim is email', async () => {
    const { client, code } = await createClientAt(service, provider.issuer, { mappingClaim: 'email' })
    await createSsoUser(service, { client, ssoId: 'a@example.org' })
    for (const email_verified of [false, undefined, 'true', 1]) {
      provider.person = { sub: 'attacker', email: 'a@example.org', email_verified }
      expect((await outcome(code)).status).toBe(502)
    }
    provider.person = { sub: 'owner', email: 'a@example.org', email_verified: true }
    expect((await outcome(code)).status).toBe(200)
  })

  it('by the same subject at the provider of another organisation', async () => {
    const other = await startTestProvider()
    const [mine, theirs] = [await createClientAt(service, provider.issuer), await createClientAt(service, other.issuer)]
    const victim = await createSsoUser(service, { client: mine.client, ssoId: 'one' })
    other.person = { sub: 'one' }
    expect(await outcome(theirs.code)).toEqual(refused)
    expect(await auditOf(service.db, victim.uid)).toEqual([])
    await other.stop()
  })

  it.each([
    ['a number', 7],
    ['a list', ['one']],
    ['an object', { toString: 'one' }],
    ['true', true],
    ['empty', ''],
    ['longer than 255 characters', 'x'.repeat(256)],
    ['text with a line break', 'one\n'],
  ])('by a mapping claim that is %s', async (_what, value) => {
    const { client, code } = await createClientAt(service, provider.issuer, { mappingClaim: 'employee' })
    await createSsoUser(service, { client, ssoId: 'one' })
    provider.person = { sub: 'someone', employee: value }
    expect((await outcome(code)).status).toBe(502)
  })

  it.each(['__proto__', 'constructor', 'toString'])('by the inherited property %s', async (mappingClaim) => {
    const { code } = await createClientAt(service, provider.issuer, { mappingClaim })
    provider.person = { sub: 'someone' }
    expect((await outcome(code)).status).toBe(502)
  })

  it('by a UserInfo response about another subject', async () => {
    const { client, code } = await createClientAt(service, provider.issuer, { mappingClaim: 'employee' })
    await createSsoUser(service, { client, ssoId: 'one' })
    provider.person = { sub: 'attacker' }
    provider.misbehaviour = { hidden: { employee: 'one', sub: 'victim' } }
    expect((await outcome(code)).status).toBe(502)
  })
})

describe('the link between a user and a subject of the provider', () => {
  const createLinkedUser = async () => {
    const organisation = await createClientAt(service, provider.issuer, { mappingClaim: 'employee' })
    const user = await createSsoUser(service, { client: organisation.client, ssoId: 'one' })
    provider.person = { sub: 'first', employee: 'one' }
    expect((await outcome(organisation.code)).status).toBe(200)
    return { ...organisation, user }
  }

  it('refuses another subject with the same mapping claim', async () => {
    const { code, user } = await createLinkedUser()
    provider.person = { sub: 'second', employee: 'one' }
    expect(await outcome(code)).toEqual(refused)
    expect((await auditOf(service.db, user.uid)).at(-1)?.details.outcome).toBe('another person than before')
    provider.person = { sub: 'first', employee: 'one' }
    expect((await outcome(code)).status).toBe(200)
  })

  it('refuses the linked subject with the mapping claim of another user', async () => {
    const { code, client } = await createLinkedUser()
    await createSsoUser(service, { client, ssoId: 'boss', roles: ['ROLE_SUPER_ADMIN'] })
    provider.person = { sub: 'first', employee: 'boss' }
    expect(await outcome(code)).toEqual(refused)
  })

  it('is removed when an administrator changes the ssoId of the user', async () => {
    const { code, user } = await createLinkedUser()
    for (const ssoId of ['other', 'one'])
      await sql`update users set sso_id = ${ssoId} where uid = ${user.uid}`.execute(service.db)
    provider.person = { sub: 'second', employee: 'one' }
    expect((await outcome(code)).status).toBe(200)
  })

  it('ends sessions and API tokens of the user when it is removed', async () => {
    const { code, client, user } = await createLinkedUser()
    const { body: tokens } = await signInAtProvider(service, code)
    const person = service.withToken(tokens.accessToken)
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const apiToken = await person.post('/users/me/api-tokens').send({ name: 'T', roles: [], expires }).expect(201)
    const admin = await service.as(['ROLE_MANAGE_USER'], client)
    const { body } = await admin.get(`/users/${user.uid}`).expect(200)
    const save = (changes: object) =>
      admin
        .put(`/users/${user.uid}`)
        .send({ ...body, ...changes })
        .expect(200)
    await save({ name: 'Renamed' })
    await person.get('/users/me').expect(200)
    await save({ ssoId: 'other' })
    await person.get('/users/me').expect(401)
    await service.withToken(apiToken.body.token).get('/users/me').expect(401)
    await save({ ssoId: body.ssoId })
    await service.withToken(apiToken.body.token).get('/users/me').expect(401)
  })

  it('is created for one of six subjects that sign in concurrently with the same mapping claim', async () => {
    const { code, client } = await createClientAt(service, provider.issuer, { mappingClaim: 'employee' })
    await createSsoUser(service, { client, ssoId: 'one' })
    const callbacks = []
    for (let index = 0; index < 6; index++) {
      provider.person = { sub: `person-${index}`, employee: 'one' }
      const { location, cookie } = await startSignIn(service, code)
      callbacks.push({ url: await followRedirect(location), cookie })
    }
    const answers = await Promise.all(callbacks.map(({ url, cookie }) => requestCallback(service, url, cookie)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401, 401, 401])
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from sso_identities i join users u on u.id = i.user_id where u.client = ${client}`.execute(
      service.db,
    )
    expect(rows[0]?.n).toBe(1)
  })
})
