import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { User } from '@sluice/contracts'
import { removeSecondFactorOf } from '../src/remove-second-factor.ts'
import { auditOf, goodPassword, startService, type Service } from './app-under-test.ts'
import { codeOf, enrol, forgetUsedCode, halfSignedIn, ticketOf } from './second-factor.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ ADMIN_SETS_PASSWORDS: true })
})
afterAll(() => service.stop())

const login = (username: string, password = goodPassword) =>
  service.http.post('/api/v1/auth/login').send({ username, password })
const complete = (ticket: string, code: string) => service.http.post('/api/v1/auth/login/code').send({ ticket, code })
const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted()
const own = '/users/me/second-factor'

describe('a second factor', () => {
  it('is asked for from its confirmation on, not before', async () => {
    const person = await service.as([])
    const begun = await person.post(own).send({ password: goodPassword }).expect(200)
    expect(begun.body.uri).toMatch(/^otpauth:\/\/totp\/Sluice.*secret=[A-Z2-7]{32}&algorithm=SHA1&digits=6&period=30$/)
    expect(begun.body.qrCode).toMatch(/^<svg [^]*<\/svg>$/)
    expect((await login(person.username).expect(200)).body).toHaveProperty('accessToken')

    await person
      .put(own)
      .send({ code: '000000' === codeOf(begun.body.secret) ? '000001' : '000000' })
      .expect(422)
    expect(await auditOf(service.db, person.uid)).toContainEqual(
      expect.objectContaining({ operation: 'account.confirmSecondFactor', details: { outcome: 'wrong code' } }),
    )
    const confirmed = await person
      .put(own)
      .send({ code: codeOf(begun.body.secret) })
      .expect(200)
    expect(new Set(confirmed.body.recoveryCodes).size).toBe(10)
    expect((await person.get(own).expect(200)).body).toEqual({
      enrolled: true,
      since: expect.any(String),
      recoveryCodesLeft: 10,
    })

    const demand = await login(person.username).expect(200)
    expect(demand.body).toEqual({ secondFactor: { ticket: expect.any(String), methods: ['TOTP', 'RECOVERY_CODE'] } })
    const { body } = await complete(demand.body.secondFactor.ticket, codeOf(begun.body.secret, 1)).expect(200)
    await service.bearing(body.accessToken).get('/users/me').expect(200)
    expect(await auditOf(service.db, person.uid)).toContainEqual(
      expect.objectContaining({ operation: 'auth.login', details: { outcome: 'second factor wanted' } }),
    )
  })

  it('is said of the user, and found by a search', async () => {
    const admin = await service.as(['ROLE_MANAGE_USER'])
    const person = await service.as([], admin.client)
    await enrol(service, person)
    const { body } = await admin.get('/users?filter=twoFactorAuth:eq:true').expect(200)
    expect(body.map(({ id, twoFactorAuth }: User) => [id, twoFactorAuth])).toEqual([[person.uid, true]])
  })

  it('takes the password to begin, and another one only after the first is removed', async () => {
    const person = await service.as([])
    const { body } = await person.post(own).send({ password: 'not-the-right-one' }).expect(422)
    expect(body.errors[0].pointer).toBe('/password')
    const { code } = await enrol(service, person)
    await person.post(own).send({ password: goodPassword }).expect(409)
    await person.delete(own).send({ code: '123' }).expect(400)
    await person.delete(own).send({ code: 'wrong-code' }).expect(422)
    await person.delete(own).send({ code: code() }).expect(204)
    expect((await login(person.username).expect(200)).body).toHaveProperty('accessToken')
    expect((await person.get(own)).body).toEqual({ enrolled: false, recoveryCodesLeft: 0 })
    await person.put(own).send({ code: code() }).expect(409)
  })

  it('can be set up by whoever has the longest of names', async () => {
    const client = await service.client({ name: '\u4e2d'.repeat(255) })
    const { username } = await service.user({ client, username: '\u6587'.repeat(100) })
    const { accessToken } = await service.signIn(username)
    const { body } = await service.bearing(accessToken).post(own).send({ password: goodPassword }).expect(200)
    expect(body.uri.length).toBeLessThan(2000)
  })

  it('goes when its user signs in elsewhere from now on', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const { person } = await halfSignedIn(service)
    const { body } = await admin.get(`/users/${person.uid}`).expect(200)
    const updated = await admin
      .put(`/users/${person.uid}`)
      .send({ ...body, ssoAuth: true, ssoId: 'x' })
      .expect(200)
    expect([body.twoFactorAuth, updated.body.twoFactorAuth]).toEqual([true, false])
    const { rows } =
      await sql`select from second_factors where user_id = (select id from users where uid = ${person.uid})`.execute(
        service.db,
      )
    expect(rows).toEqual([])
  })

  it('is not removed by guessing, and the audit has every guess', async () => {
    const person = await service.as([])
    const { code } = await enrol(service, person)
    for (let at = 0; at < 5; at++)
      await person
        .delete(own)
        .send({ code: `wrong-${at}` })
        .expect(422)
    await person.delete(own).send({ code: code() }).expect(429)
    await person.delete(own).send({ password: 'not-the-right-one' }).expect(422)
    const outcomes = (await auditOf(service.db, person.uid)).map(({ details }) => details['outcome'])
    expect(outcomes.slice(-7)).toEqual([
      ...Array.from({ length: 5 }, () => 'wrong code'),
      'too many tries',
      'wrong password',
    ])
    await person.delete(own).send({ password: goodPassword }).expect(204)
  })

  it('is kept sealed, with hashes of recovery codes and tickets', async () => {
    const { seed, recoveryCodes, ticket } = await halfSignedIn(service)
    const { rows } = await sql<{ row: string }>`
      select f::text as row from second_factors f union all select r::text from recovery_codes r
      union all select t::text from second_factor_tickets t union all select a::text from audit a`.execute(service.db)
    const kept = [...rows.map(({ row }) => row), ...service.lines].join('\n')
    for (const secret of [seed, ...recoveryCodes, recoveryCodes[0]!.replaceAll('-', ''), ticket])
      expect(kept).not.toContain(secret)
  })
})

describe('a code', () => {
  it('of the step before or after is taken, of two steps off is not', async () => {
    for (const [ahead, status] of [
      [-1, 200],
      [1, 200],
      [-3, 401],
      [3, 401],
    ] as const) {
      const { ticket, code } = await halfSignedIn(service)
      await complete(ticket, code(ahead)).expect(status)
    }
  })

  it('signs in once, however many use it at once, and no older one after it', async () => {
    const { person, ticket, code } = await halfSignedIn(service)
    const tickets = [ticket, ...(await Promise.all([1, 2, 3].map(() => ticketOf(service, person))))]
    const answers = await Promise.all(tickets.map((each) => complete(each, code())))
    expect(statuses(answers)).toEqual([200, 401, 401, 401])
    const unused = tickets.find((_each, index) => answers[index]!.status === 401)!
    await complete(unused, code(-1)).expect(401)
  })

  it('is wrong in one way, whatever is wrong with it', async () => {
    const { ticket } = await halfSignedIn(service)
    const [wrong, madeUp] = [
      await complete(ticket, '\u0661\u0662\u0663\u0664\u0665\u0666'),
      await complete(`slt_${'x'.repeat(43)}`, '123456'),
    ]
    const common = (body: Record<string, unknown>) => ({ ...body, requestId: '' })
    expect(common(wrong.body)).toEqual(common(madeUp.body))
    expect([wrong.status, wrong.body.code]).toEqual([401, 'sign-in-failed'])
  })

  it('may be typed with spaces', async () => {
    const { ticket, code } = await halfSignedIn(service)
    await complete(ticket, code().replace(/(...)(...)/, '$1 $2')).expect(200)
  })
})

describe('a recovery code', () => {
  it('signs in once, however it is typed', async () => {
    const { person, ticket, recoveryCodes } = await halfSignedIn(service)
    const [first, second] = recoveryCodes
    const tickets = [ticket, await ticketOf(service, person), await ticketOf(service, person)]
    const answers = await Promise.all(tickets.map((each) => complete(each, first!)))
    expect(statuses(answers)).toEqual([200, 401, 401])
    const open = tickets.find((_each, index) => answers[index]!.status === 401)!
    await complete(open, second!.toUpperCase().replaceAll('-', ' ')).expect(200)
    expect((await person.get(own)).body.recoveryCodesLeft).toBe(8)
    const { rows } = await sql<{ subject: string }>`
      select subject from mails m join users u on u.id = m.user_id where u.uid = ${person.uid}`.execute(service.db)
    expect(rows.filter(({ subject }) => subject === 'A recovery code of yours was used')).toHaveLength(2)
  })

  it('has 125 random bits, and no letter that is taken for another', async () => {
    const { person, recoveryCodes } = await halfSignedIn(service)
    // A zero and a one, wherever they are, as people read them.
    for (const code of recoveryCodes)
      expect(code).toMatch(/^[\dabcdefghjkmnpqrstvwxyz]{5}(-[\dabcdefghjkmnpqrstvwxyz]{5}){4}$/)
    const [zero, one] = ['0', '1'].map((digit) => recoveryCodes.findIndex((code) => code.includes(digit)))
    const misread = [recoveryCodes[zero!]?.replaceAll('0', 'O'), recoveryCodes[one!]?.replaceAll('1', 'l')]
    for (const code of new Set(zero === one ? misread.slice(0, 1) : misread))
      if (code) await complete(await ticketOf(service, person), code).expect(200)
  })

  it('is worth nothing once there are new ones, or no second factor', async () => {
    const { person, recoveryCodes, code } = await halfSignedIn(service)
    const renewed = await person.post(`${own}/recovery-codes`).send({ password: goodPassword }).expect(200)
    await complete(await ticketOf(service, person), recoveryCodes[0]!).expect(401)
    await complete(await ticketOf(service, person), renewed.body.recoveryCodes[0]).expect(200)
    await person.delete(own).send({ code: code() }).expect(204)
    await person.post(`${own}/recovery-codes`).send({ password: goodPassword }).expect(409)
  })
})

describe('a ticket', () => {
  it('opens one session, however many use it at once with different codes', async () => {
    const { ticket, code, recoveryCodes } = await halfSignedIn(service)
    const codes = [code(), ...recoveryCodes.slice(0, 3)]
    expect(statuses(await Promise.all(codes.map((each) => complete(ticket, each))))).toEqual([200, 401, 401, 401])
  })

  it('ends after five minutes, and when the user is changed, shut out, or their client is disabled', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const ends: Record<string, (person: { uid: string; client: string; username: string }) => PromiseLike<unknown>> = {
      late: () => sql`update second_factor_tickets set expires_at = now() - interval '1 second'`.execute(service.db),
      status: ({ uid }) => admin.put(`/users/${uid}/status`).send({ status: 'INACTIVE' }).expect(200),
      client: ({ client }) => sql`update clients set disabled = true where uid = ${client}`.execute(service.db),
      sessions: ({ uid }) => admin.delete(`/users/${uid}/sessions`).expect(204),
      factor: ({ uid }) => admin.delete(`/users/${uid}/second-factor`).expect(204),
      async password({ uid, username }) {
        const about = { name: 'X', email: 'x@example.org', ssoAuth: false, startPage: 'DEFAULT' }
        await admin
          .put(`/users/${uid}`)
          .send({ ...about, username, password: 'another-fine-phrase' })
          .expect(200)
      },
    }
    for (const [name, end] of Object.entries(ends)) {
      const { person, ticket, code } = await halfSignedIn(service)
      await end(person)
      expect([name, (await complete(ticket, code())).status]).toEqual([name, 401])
    }
  })

  it('is not given to whoever may not sign in, right password or not', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const { person } = await halfSignedIn(service)
    await admin.put(`/users/${person.uid}/status`).send({ status: 'INACTIVE' }).expect(200)
    const [right, wrong] = [await login(person.username), await login(person.username, 'not-the-right-one')]
    expect([right.status, right.body.detail]).toEqual([401, wrong.body.detail])
  })
})

describe('an administrator', () => {
  it('removes the second factor of whoever they have power over, in person, and not their own', async () => {
    const admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
    const [weaker, stronger] = await Promise.all([
      service.as(['ROLE_SEE_VIEW'], admin.client),
      service.as(['ROLE_MANAGE_VIEW'], admin.client),
    ])
    for (const person of [weaker, stronger, admin]) await enrol(service, person)
    const remove = (uid: string, by: Pick<typeof admin, 'delete'> = admin) => by.delete(`/users/${uid}/second-factor`)
    await remove(stronger.uid).expect(403)
    await remove(admin.uid).expect(403)
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const made = await admin
      .post('/users/me/api-tokens')
      .send({ name: 'x', roles: ['ROLE_MANAGE_USER'], expires, password: goodPassword })
    await remove(weaker.uid, service.bearing(made.body.token)).expect(403)
    await remove(weaker.uid).expect(204)
    expect((await login(weaker.username)).body).toHaveProperty('accessToken')
    expect(
      (await auditOf(service.db, weaker.uid)).find(({ operation }) => operation === 'users.removeSecondFactor'),
    ).toMatchObject({ actor: admin.uid, details: { before: { twoFactorAuth: true }, after: { twoFactorAuth: false } } })
  })
})

describe('an operator', () => {
  it('removes the second factor of anybody, and the audit knows', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    await enrol(service, admin)
    expect(await removeSecondFactorOf(service.db, admin.username.toUpperCase())).toBe(true)
    expect(await removeSecondFactorOf(service.db, admin.username)).toBe(false)
    await expect(removeSecondFactorOf(service.db, 'nobody-here')).rejects.toThrow('There is no user')
    expect((await login(admin.username)).body).toHaveProperty('accessToken')
    expect((await auditOf(service.db, admin.uid)).slice(-3)[0]).toMatchObject({
      actor: null,
      details: { before: { twoFactorAuth: true } },
    })
  })
})

it('users hear by mail that their second factor was set up or removed', async () => {
  const admin = await service.as(['ROLE_SUPER_ADMIN'])
  const person = await service.as([], admin.client)
  await enrol(service, person)
  await admin.delete(`/users/${person.uid}/second-factor`).expect(204)
  await admin.delete(`/users/${person.uid}/second-factor`).expect(204)
  const { rows } = await sql<{ kind: string }>`
    select kind from mails m join users u on u.id = m.user_id where u.uid = ${person.uid}`.execute(service.db)
  expect(rows).toEqual([{ kind: 'SECOND_FACTOR_CHANGED' }, { kind: 'SECOND_FACTOR_CHANGED' }])
})

it('a used code of an enrolment is not good for the sign-in after it', async () => {
  const person = await service.as([])
  const { code } = await enrol(service, person)
  const ticket = await ticketOf(service, person)
  await complete(ticket, code()).expect(200)
  await complete(await ticketOf(service, person), code()).expect(401)
  await forgetUsedCode(service, person)
  await complete(await ticketOf(service, person), code()).expect(200)
})
