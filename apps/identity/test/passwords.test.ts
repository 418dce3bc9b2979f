import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { answerPasswordReset } from '../src/sign-in/password/password-reset-requests.ts'
import { auditOf, goodPassword, startService, userBody, type Service } from './app-under-test.ts'
import { linkFor, tokenIn } from './mailed-links.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService({ ADMIN_SETS_PASSWORDS: false })
  admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
})
afterAll(() => service.stop())
beforeEach(() => sql`delete from sign_in_attempts`.execute(service.db))

const password = 'otters-juggle-17-plums'
let networks = 0
const forgot = (username: string, from = `198.18.${networks++}.1`) =>
  service.http.post('/api/v1/auth/forgot-password').set('x-forwarded-for', from).send({ username })
const reset = (body: object) => service.http.post('/api/v1/auth/reset-password').send(body)
const refresh = (refreshToken: string) => service.http.post('/api/v1/auth/refresh').send({ refreshToken })
const answerAll = async () => {
  while (await answerPasswordReset(service.db, service.config));
}
const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer)
const mailsTo = async (user: string) => (await admin.get(`/mails?filter=user.id:eq:${user}`).expect(200)).body
/** The token in the newest mail to a user, which an administrator can read. */
async function mailedToken(user: string): Promise<string> {
  const { body } = await admin.get(`/mails/${(await mailsTo(user))[0].id}`).expect(200)
  return tokenIn(body.text)
}
const createUser = async () => {
  const user = await service.user({ client: admin.client })
  await sql`update users set email = ${`${user.username}@example.org`} where uid = ${user.uid}`.execute(service.db)
  return { ...user, email: `${user.username}@example.org` }
}

describe('password reset', () => {
  it('sets a new password with a mailed link that works once, and ends every session', async () => {
    const user = await createUser()
    const { refreshToken, accessToken } = await service.signIn(user.username)
    await forgot(user.username).expect(204)
    await answerAll()
    const token = await mailedToken(user.uid)

    expect(pointers((await reset({ token, password: 'Password12345' }).expect(422)).body)).toEqual(['/password'])
    await reset({ token, password }).expect(204)
    await refresh(refreshToken).expect(401)
    await service.withToken(accessToken).get('/users/me').expect(401)
    await service.signIn(user.username, password)
    expect(pointers((await reset({ token, password: `${password}-2` }).expect(422)).body)).toEqual(['/token'])
    expect((await mailsTo(user.uid))[0]).toMatchObject({ kind: 'PASSWORD_CHANGED', recipient: user.email })
  })

  it('accepts a mail address in any case', async () => {
    const user = await createUser()
    await forgot(user.email.toUpperCase()).expect(204)
    await answerAll()
    await reset({ token: await mailedToken(user.uid), password }).expect(204)
  })

  it('gives the same response for an unknown user, and mails nothing', async () => {
    const client = admin.client
    const disabled = await service.client()
    const users = {
      'signs in elsewhere': await service.user({ client, ssoAuth: true }),
      'status INACTIVE': await service.user({ client, status: 'INACTIVE' }),
      'status INVITATION': await service.user({ client, status: 'INVITATION' }),
      'client disabled': await service.user({ client: disabled }),
    }
    await sql`update clients set disabled = true where uid = ${disabled}`.execute(service.db)
    for (const name of [...Object.values(users).map(({ username }) => username), 'nobody-here', 'nobody@example.com']) {
      const answer = await forgot(name).expect(204)
      expect([answer.text, Object.keys(answer.headers).toSorted()]).toEqual(['', expect.not.arrayContaining(['etag'])])
    }
    await answerAll()
    for (const [outcome, { uid }] of Object.entries(users)) {
      const { rows } = await sql`select from mails m join users u on u.id = m.user_id where u.uid = ${uid}`.execute(
        service.db,
      )
      expect(rows).toHaveLength(0)
      expect((await auditOf(service.db, uid)).map(({ details }) => details)).toEqual([{ outcome }])
    }
    expect((await sql`select from forgotten_passwords`.execute(service.db)).rows).toHaveLength(0)
  })

  it('is limited to three requests a minute per name and thirty per network, also when concurrent', async () => {
    const { username } = await createUser()
    const count = async (requests: PromiseLike<{ status: number }>[]) =>
      (await Promise.all(requests)).filter(({ status }) => status === 204).length
    expect(await count(Array.from({ length: 20 }, () => forgot(username)))).toBe(3)
    expect(await count(Array.from({ length: 60 }, (_, index) => forgot(`nobody-${index}`, '198.19.7.1')))).toBe(30)
    // The limit does not apply to sign-ins.
    await service.signIn(username)
  })

  it('limits the mails to one address, whatever names are requested', async () => {
    const user = await createUser()
    for (let at = 0; at < 9; at++) {
      await sql`delete from sign_in_attempts`.execute(service.db)
      await forgot(at % 2 ? user.email : user.username).expect(204)
    }
    await answerAll()
    const mails = await mailsTo(user.uid)
    expect(mails.map(({ state }: { state: string }) => state)).toEqual(['KEPT', ...Array(4).fill('FAILED')])
    expect(mails[1].reason).toBe('A newer mail replaced it.')
  })
})

describe('password reset for an address shared by several users', () => {
  const createUserWithEmail = async (client: string, email: string) => {
    const user = await service.user({ client })
    await sql`update users set email = ${email} where uid = ${user.uid}`.execute(service.db)
    return user.uid
  }
  const resets = async (user: string) => {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from mails m join users u on u.id = m.user_id where u.uid = ${user}`.execute(service.db)
    return rows[0]!.n
  }

  it('mails the user of another organisation, however many users elsewhere were given the address before', async () => {
    const stranger = await service.client()
    const foreign = []
    for (let each = 0; each < 15; each++) foreign.push(await createUserWithEmail(stranger, 'victim@example.org'))
    const victim = await createUserWithEmail(admin.client, 'victim@example.org')
    for (let each = 0; each < 3; each++) await forgot('victim@example.org').expect(204)
    await answerAll()
    expect(await resets(victim)).toBe(3)
    // The limit is ten mails an hour for all users of a client with this address.
    expect((await Promise.all(foreign.map(resets))).reduce((one, other) => one + other)).toBe(10)
  })

  it('mails the active user before users of the same organisation who cannot get a link', async () => {
    const inactive = []
    for (let each = 0; each < 12; each++) inactive.push(await createUserWithEmail(admin.client, 'second@example.org'))
    await sql`update users set status = 'INACTIVE' where uid = any(${inactive}::uuid[])`.execute(service.db)
    const active = await createUserWithEmail(admin.client, 'second@example.org')
    await forgot('second@example.org').expect(204)
    await answerAll()
    expect(await resets(active)).toBe(1)
  })
})

describe('administrators', () => {
  it('can send one address five links an hour across users of their organisation', async () => {
    const email = 'bombed@example.org'
    const other = await service.as(['ROLE_MANAGE_USER'])
    const first = (await admin.post('/users/invite').send(userBody({ email })).expect(201)).body.id
    const tries = await Promise.all([
      admin.post(`/users/${first}/invite`),
      admin.post('/users/invite').send(userBody({ email })),
      admin.post('/users/invite').send(userBody({ email: email.toUpperCase() })),
      admin.post(`/users/${first}/copies`).send(userBody({ email })),
      admin.post(`/users/${first}/invite`),
      admin.post('/users/invite').send(userBody({ email })),
      admin.post(`/users/${first}/invite`),
    ])
    const refused = tries.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(3)
    for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(3000)
    // The limit of one organisation does not apply to another that invites the same address.
    await other.post('/users/invite').send(userBody({ email })).expect(201)
    await sql`update mails set created_at = now() - interval '61 minutes' where recipient = ${email}`.execute(
      service.db,
    )
    await admin.post(`/users/${first}/invite`).expect(200)
  })

  it('can start five password resets an hour for one address', async () => {
    const { uid } = await createUser()
    for (let each = 0; each < 5; each++) await admin.post(`/users/${uid}/password-reset`).expect(204)
    await admin.post(`/users/${uid}/password-reset`).expect(429)
  })
})

describe('a password reset link', () => {
  it('is invalidated after an hour, by a new link, by a new address, and by each event that ends the sessions', async () => {
    const { uid } = await createUser()
    const old = await linkFor(service, uid, 'PASSWORD_RESET')
    const token = await linkFor(service, uid, 'PASSWORD_RESET')
    await reset({ token: old, password }).expect(422)
    await sql`update links set expires_at = now() where user_id = (select id from users where uid = ${uid})`.execute(
      service.db,
    )
    await reset({ token, password }).expect(422)

    const deactivated = await linkFor(service, uid, 'PASSWORD_RESET')
    await admin.put(`/users/${uid}/status`).send({ status: 'INACTIVE' }).expect(200)
    await admin.put(`/users/${uid}/status`).send({ status: 'ACTIVE' }).expect(200)
    await reset({ token: deactivated, password }).expect(422)

    const moved = await linkFor(service, uid, 'PASSWORD_RESET')
    const { body } = await admin.get(`/users/${uid}`)
    await admin
      .put(`/users/${uid}`)
      .send({ ...body, email: 'new@example.org' })
      .expect(200)
    await reset({ token: moved, password }).expect(422)
    expect((await mailsTo(uid))[0]).toMatchObject({ kind: 'EMAIL_CHANGED', recipient: body.email })
  })

  it('cannot be used as an invitation, nor an invitation as a password reset link', async () => {
    const { uid } = await createUser()
    const invited = await service.user({ client: admin.client, status: 'INVITATION' })
    const accept = (token: string) => service.http.post('/api/v1/auth/accept-invitation').send({ token, password })
    await accept(await linkFor(service, uid, 'PASSWORD_RESET')).expect(422)
    await reset({ token: await linkFor(service, invited.uid, 'INVITATION'), password }).expect(422)
  })

  it('can be used by one of several concurrent requests', async () => {
    const { uid, username } = await createUser()
    const token = await linkFor(service, uid, 'PASSWORD_RESET')
    const passwords = Array.from({ length: 8 }, (_, index) => `otters-juggle-${index}-plums`)
    const answers = await Promise.all(passwords.map((password) => reset({ token, password })))
    const won = answers.map(({ status }) => status === 204)
    expect(won.filter(Boolean)).toHaveLength(1)
    await service.signIn(username, passwords[won.indexOf(true)])
  })

  it('can be sent by an administrator with the roles of the user, to another active user with a password', async () => {
    const { uid, username } = await createUser()
    await admin.post(`/users/${uid}/password-reset`).expect(204)
    await service.signIn(username)
    await reset({ token: await mailedToken(uid), password }).expect(204)
    const start = (user: string) => admin.post(`/users/${user}/password-reset`)
    const { client } = admin
    await start((await service.user({ client, roles: ['ROLE_MANAGE_SCHEMA'] })).uid).expect(403)
    for (const about of [{ ssoAuth: true }, { status: 'INVITATION' as const }, { status: 'INACTIVE' as const }])
      await start((await service.user({ client, ...about })).uid).expect(422)
    await start(admin.uid).expect(422)
  })
})

describe('a change of the caller’s own password', () => {
  it('requires the current password, ends other sessions and links, and keeps the current session', async () => {
    const me = await service.as([], admin.client)
    const other = await service.signIn(me.username)
    const token = await linkFor(service, me.uid, 'PASSWORD_RESET')
    const change = (body: object) => me.put('/users/me/password').send(body)

    const wrong = await change({ currentPassword: 'not-the-right-one', newPassword: password }).expect(422)
    expect(pointers(wrong.body)).toEqual(['/currentPassword'])
    for (const newPassword of ['Password12345', goodPassword])
      expect(pointers((await change({ currentPassword: goodPassword, newPassword }).expect(422)).body)).toEqual([
        '/newPassword',
      ])
    await change({ currentPassword: goodPassword, newPassword: password }).expect(204)

    await me.get('/users/me').expect(200)
    await refresh(me.tokens.refreshToken).expect(200)
    await service.withToken(other.accessToken).get('/users/me').expect(401)
    await refresh(other.refreshToken).expect(401)
    await reset({ token, password: `${password}-2` }).expect(422)
    await service.signIn(me.username, password)
    expect((await mailsTo(me.uid))[0]).toMatchObject({ kind: 'PASSWORD_CHANGED' })
    expect((await auditOf(service.db, me.uid)).map(({ operation }) => operation)).toContain('account.changePassword')
  })

  it('limits concurrent guesses of the current password from an open session', async () => {
    const me = await service.as([], admin.client)
    const guess = (at: number) =>
      me.put('/users/me/password').send({ currentPassword: `a-wrong-guess-${at}`, newPassword: password })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => guess(index)))
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
  })

  it('is refused by the operation for administrators', async () => {
    const loose = await startService()
    try {
      const boss = await loose.as(['ROLE_MANAGE_USER'])
      const own = userBody({ username: boss.username, auths: ['ROLE_MANAGE_USER'], password })
      const { body } = await boss.put(`/users/${boss.uid}`).send(own).expect(422)
      expect(body.detail).toContain('/users/me/password')
      const other = await loose.user({ client: boss.client })
      await boss
        .put(`/users/${other.uid}`)
        .send(userBody({ username: other.username, password }))
        .expect(200)
      await loose.signIn(other.username, password)
      const { body: mails } = await boss.get(`/mails?filter=user.id:eq:${other.uid}&order=created`).expect(200)
      expect(mails.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual(['EMAIL_CHANGED', 'PASSWORD_CHANGED'])
    } finally {
      await loose.stop()
    }
  })
})
