import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { User } from '@sluice/contracts'
import { removeSecondFactorOf } from '../src/commands/remove-second-factor.ts'
import { auditOf, goodPassword } from './app-under-test.ts'
import { secondFactorPath, startSecondFactorService } from './second-factor-setup.ts'
import { totpCode, enrolSecondFactor, createUserWithTicket } from './enrol-second-factor.ts'

const setup = startSecondFactorService()
const { login, complete } = setup

describe('a second factor', () => {
  it('is required only after its confirmation', async () => {
    const person = await setup.service.as([])
    const enrolment = await person.post(secondFactorPath).send({ password: goodPassword }).expect(200)
    expect(enrolment.body.uri).toMatch(
      /^otpauth:\/\/totp\/Sluice.*secret=[A-Z2-7]{32}&algorithm=SHA1&digits=6&period=30$/,
    )
    expect(enrolment.body.qrCode).toMatch(/^<svg [^]*<\/svg>$/)
    expect((await login(person.username).expect(200)).body).toHaveProperty('accessToken')

    await person
      .put(secondFactorPath)
      .send({ code: '000000' === totpCode(enrolment.body.secret) ? '000001' : '000000' })
      .expect(422)
    expect(await auditOf(setup.service.db, person.uid)).toContainEqual(
      expect.objectContaining({ operation: 'account.confirmSecondFactor', details: { outcome: 'wrong code' } }),
    )
    const confirmed = await person
      .put(secondFactorPath)
      .send({ code: totpCode(enrolment.body.secret) })
      .expect(200)
    expect(new Set(confirmed.body.recoveryCodes).size).toBe(10)
    expect((await person.get(secondFactorPath).expect(200)).body).toEqual({
      enrolled: true,
      since: expect.any(String),
      recoveryCodesLeft: 10,
    })

    const demand = await login(person.username).expect(200)
    expect(demand.body).toEqual({ secondFactor: { ticket: expect.any(String), methods: ['TOTP', 'RECOVERY_CODE'] } })
    const { body } = await complete(demand.body.secondFactor.ticket, totpCode(enrolment.body.secret, 1)).expect(200)
    await setup.service.withToken(body.accessToken).get('/users/me').expect(200)
    expect(await auditOf(setup.service.db, person.uid)).toContainEqual(
      expect.objectContaining({ operation: 'auth.login', details: { outcome: 'second factor wanted' } }),
    )
  })

  it('is shown on the user, and is searchable', async () => {
    const admin = await setup.service.as(['ROLE_MANAGE_USER'])
    const person = await setup.service.as([], admin.client)
    await enrolSecondFactor(setup.service, person)
    const { body } = await admin.get('/users?filter=twoFactorAuth:eq:true').expect(200)
    expect(body.map(({ id, twoFactorAuth }: User) => [id, twoFactorAuth])).toEqual([[person.uid, true]])
  })

  it('requires the password for enrolment, and must be removed before another enrolment', async () => {
    const person = await setup.service.as([])
    const { body } = await person.post(secondFactorPath).send({ password: 'not-the-right-one' }).expect(422)
    expect(body.errors[0].pointer).toBe('/password')
    const { code } = await enrolSecondFactor(setup.service, person)
    await person.post(secondFactorPath).send({ password: goodPassword }).expect(409)
    await person.delete(secondFactorPath).send({ code: '123' }).expect(400)
    await person.delete(secondFactorPath).send({ code: 'wrong-code' }).expect(422)
    await person.delete(secondFactorPath).send({ code: code() }).expect(204)
    expect((await login(person.username).expect(200)).body).toHaveProperty('accessToken')
    expect((await person.get(secondFactorPath)).body).toEqual({ enrolled: false, recoveryCodesLeft: 0 })
    await person.put(secondFactorPath).send({ code: code() }).expect(409)
  })

  it('can be enrolled with names of the maximum length', async () => {
    const client = await setup.service.client({ name: '\u4e2d'.repeat(255) })
    const { username } = await setup.service.user({ client, username: '\u6587'.repeat(100) })
    const { accessToken } = await setup.service.signIn(username)
    const { body } = await setup.service
      .withToken(accessToken)
      .post(secondFactorPath)
      .send({ password: goodPassword })
      .expect(200)
    expect(body.uri.length).toBeLessThan(2000)
  })

  it('is removed when the user is switched to single sign-on', async () => {
    const admin = await setup.service.as(['ROLE_SUPER_ADMIN'])
    const { person } = await createUserWithTicket(setup.service)
    const { body } = await admin.get(`/users/${person.uid}`).expect(200)
    const updated = await admin
      .put(`/users/${person.uid}`)
      .send({ ...body, ssoAuth: true, ssoId: 'x' })
      .expect(200)
    expect([body.twoFactorAuth, updated.body.twoFactorAuth]).toEqual([true, false])
    const { rows } =
      await sql`select from second_factors where user_id = (select id from users where uid = ${person.uid})`.execute(
        setup.service.db,
      )
    expect(rows).toEqual([])
  })

  it('limits guesses at its removal, and writes an audit entry for each guess', async () => {
    const person = await setup.service.as([])
    const { code } = await enrolSecondFactor(setup.service, person)
    for (let at = 0; at < 5; at++)
      await person
        .delete(secondFactorPath)
        .send({ code: `wrong-${at}` })
        .expect(422)
    await person.delete(secondFactorPath).send({ code: code() }).expect(429)
    await person.delete(secondFactorPath).send({ password: 'not-the-right-one' }).expect(422)
    const outcomes = (await auditOf(setup.service.db, person.uid)).map(({ details }) => details['outcome'])
    expect(outcomes.slice(-7)).toEqual([
      ...Array.from({ length: 5 }, () => 'wrong code'),
      'too many tries',
      'wrong password',
    ])
    await person.delete(secondFactorPath).send({ password: goodPassword }).expect(204)
  })

  it('is stored encrypted, and its recovery codes and tickets are stored as hashes', async () => {
    const { seed, recoveryCodes, ticket } = await createUserWithTicket(setup.service)
    const { rows } = await sql<{ row: string }>`
      select f::text as row from second_factors f union all select r::text from recovery_codes r
      union all select t::text from second_factor_tickets t union all select a::text from audit a`.execute(
      setup.service.db,
    )
    const outputs = [...rows.map(({ row }) => row), ...setup.service.lines].join('\n')
    for (const secret of [seed, ...recoveryCodes, recoveryCodes[0]!.replaceAll('-', ''), ticket])
      expect(outputs).not.toContain(secret)
  })
})

describe('an administrator', () => {
  it('removes the second factor of users whose roles they hold, in person only, and not their own', async () => {
    const admin = await setup.service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
    const [weaker, stronger] = await Promise.all([
      setup.service.as(['ROLE_SEE_VIEW'], admin.client),
      setup.service.as(['ROLE_MANAGE_VIEW'], admin.client),
    ])
    for (const person of [weaker, stronger, admin]) await enrolSecondFactor(setup.service, person)
    const remove = (uid: string, by: Pick<typeof admin, 'delete'> = admin) => by.delete(`/users/${uid}/second-factor`)
    await remove(stronger.uid).expect(403)
    await remove(admin.uid).expect(403)
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const created = await admin
      .post('/users/me/api-tokens')
      .send({ name: 'x', roles: ['ROLE_MANAGE_USER'], expires, password: goodPassword })
    await remove(weaker.uid, setup.service.withToken(created.body.token)).expect(403)
    await remove(weaker.uid).expect(204)
    expect((await login(weaker.username)).body).toHaveProperty('accessToken')
    expect(
      (await auditOf(setup.service.db, weaker.uid)).find(({ operation }) => operation === 'users.removeSecondFactor'),
    ).toMatchObject({ actor: admin.uid, details: { before: { twoFactorAuth: true }, after: { twoFactorAuth: false } } })
  })
})

describe('the operator command', () => {
  it('removes the second factor of any user, and writes an audit entry', async () => {
    const admin = await setup.service.as(['ROLE_SUPER_ADMIN'])
    await enrolSecondFactor(setup.service, admin)
    expect(await removeSecondFactorOf(setup.service.db, admin.username.toUpperCase())).toBe(true)
    expect(await removeSecondFactorOf(setup.service.db, admin.username)).toBe(false)
    await expect(removeSecondFactorOf(setup.service.db, 'nobody-here')).rejects.toThrow('does not exist')
    expect((await login(admin.username)).body).toHaveProperty('accessToken')
    expect((await auditOf(setup.service.db, admin.uid)).slice(-3)[0]).toMatchObject({
      actor: null,
      details: { before: { twoFactorAuth: true } },
    })
  })
})

it('mails the user when their second factor is enrolled or removed', async () => {
  const admin = await setup.service.as(['ROLE_SUPER_ADMIN'])
  const person = await setup.service.as([], admin.client)
  await enrolSecondFactor(setup.service, person)
  await admin.delete(`/users/${person.uid}/second-factor`).expect(204)
  await admin.delete(`/users/${person.uid}/second-factor`).expect(204)
  const { rows } = await sql<{ kind: string }>`
    select kind from mails m join users u on u.id = m.user_id where u.uid = ${person.uid}`.execute(setup.service.db)
  expect(rows).toEqual([{ kind: 'SECOND_FACTOR_CHANGED' }, { kind: 'SECOND_FACTOR_CHANGED' }])
})
