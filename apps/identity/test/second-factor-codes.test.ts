import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { goodPassword } from './app-under-test.ts'
import { secondFactorPath, startSecondFactorService } from './second-factor-setup.ts'
import { enrolSecondFactor, resetUsedCode, createUserWithTicket, requestTicket } from './enrol-second-factor.ts'

const setup = startSecondFactorService()
const { login, complete } = setup

const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted()

/** Repeats `run` until it stays within one time step, and then calls the check that `run` returned. */
async function withinOneStep(run: () => Promise<() => void>): Promise<void> {
  const step = () => Math.floor(Date.now() / 30_000)
  for (;;) {
    const before = step()
    const check = await run()
    if (step() === before) return check()
  }
}

describe('a second-factor code', () => {
  it('is accepted one time step early or late, and rejected further away', async () => {
    for (const [ahead, status] of [
      [-1, 200],
      [1, 200],
      [-3, 401],
      [3, 401],
    ] as const) {
      await withinOneStep(async () => {
        const { ticket, code } = await createUserWithTicket(setup.service)
        const { status: answered } = await complete(ticket, code(ahead))
        return () => expect(answered).toBe(status)
      })
    }
  })

  it('signs in once when used concurrently, and invalidates older codes', async () => {
    const { person, ticket, code } = await createUserWithTicket(setup.service)
    const tickets = [ticket, ...(await Promise.all([1, 2, 3].map(() => requestTicket(setup.service, person))))]
    const answers = await Promise.all(tickets.map((each) => complete(each, code())))
    expect(statuses(answers)).toEqual([200, 401, 401, 401])
    const unused = tickets.find((_each, index) => answers[index]!.status === 401)!
    await complete(unused, code(-1)).expect(401)
  })

  it('causes the same error for a wrong code and an unknown ticket', async () => {
    const { ticket } = await createUserWithTicket(setup.service)
    const [wrong, madeUp] = [
      await complete(ticket, '\u0661\u0662\u0663\u0664\u0665\u0666'),
      await complete(`slt_${'x'.repeat(43)}`, '123456'),
    ]
    const common = (body: Record<string, unknown>) => ({ ...body, requestId: '' })
    expect(common(wrong.body)).toEqual(common(madeUp.body))
    expect([wrong.status, wrong.body.code]).toEqual([401, 'sign-in-failed'])
  })

  it('is accepted with spaces', async () => {
    const { ticket, code } = await createUserWithTicket(setup.service)
    await complete(ticket, code().replace(/(...)(...)/, '$1 $2')).expect(200)
  })
})

describe('a recovery code', () => {
  it('signs in once, in any case and with or without hyphens', async () => {
    const { person, ticket, recoveryCodes } = await createUserWithTicket(setup.service)
    const [first, second] = recoveryCodes
    const tickets = [ticket, await requestTicket(setup.service, person), await requestTicket(setup.service, person)]
    const answers = await Promise.all(tickets.map((each) => complete(each, first!)))
    expect(statuses(answers)).toEqual([200, 401, 401])
    const open = tickets.find((_each, index) => answers[index]!.status === 401)!
    await complete(open, second!.toUpperCase().replaceAll('-', ' ')).expect(200)
    expect((await person.get(secondFactorPath)).body.recoveryCodesLeft).toBe(8)
    const { rows } = await sql<{ subject: string }>`
      select subject from mails m join users u on u.id = m.user_id where u.uid = ${person.uid}`.execute(
      setup.service.db,
    )
    expect(rows.filter(({ subject }) => subject === 'A recovery code of yours was used')).toHaveLength(2)
  })

  it('has 125 random bits, and is accepted with commonly confused characters', async () => {
    const { person, recoveryCodes } = await createUserWithTicket(setup.service)
    for (let codes = recoveryCodes; ; ) {
      for (const code of codes)
        expect(code).toMatch(/^[\dabcdefghjkmnpqrstvwxyz]{5}(-[\dabcdefghjkmnpqrstvwxyz]{5}){4}$/)
      const withZero = codes.find((code) => code.includes('0'))
      const withOne = codes.find((code) => code.includes('1') && code !== withZero)
      if (withZero && withOne) {
        await complete(await requestTicket(setup.service, person), withZero.replaceAll('0', 'O')).expect(200)
        await complete(await requestTicket(setup.service, person), withOne.replaceAll('1', 'l')).expect(200)
        return
      }
      // These codes lack 0 or 1, which is rare. Try another set.
      const renewed = await person
        .post(`${secondFactorPath}/recovery-codes`)
        .send({ password: goodPassword })
        .expect(200)
      codes = renewed.body.recoveryCodes
    }
  })

  it('is invalid after new codes are issued or the second factor is removed', async () => {
    const { person, recoveryCodes, code } = await createUserWithTicket(setup.service)
    const renewed = await person.post(`${secondFactorPath}/recovery-codes`).send({ password: goodPassword }).expect(200)
    await complete(await requestTicket(setup.service, person), recoveryCodes[0]!).expect(401)
    await complete(await requestTicket(setup.service, person), renewed.body.recoveryCodes[0]).expect(200)
    await person.delete(secondFactorPath).send({ code: code() }).expect(204)
    await person.post(`${secondFactorPath}/recovery-codes`).send({ password: goodPassword }).expect(409)
  })
})

describe('a second-factor ticket', () => {
  it('opens one session when used concurrently with different codes', async () => {
    const { ticket, code, recoveryCodes } = await createUserWithTicket(setup.service)
    const codes = [code(), ...recoveryCodes.slice(0, 3)]
    expect(statuses(await Promise.all(codes.map((each) => complete(ticket, each))))).toEqual([200, 401, 401, 401])
  })

  it('is invalidated after five minutes, and by a change to the user, their sessions or their organisation', async () => {
    const admin = await setup.service.as(['ROLE_SUPER_ADMIN'])
    const ends: Record<string, (person: { uid: string; client: string; username: string }) => PromiseLike<unknown>> = {
      late: () =>
        sql`update second_factor_tickets set expires_at = now() - interval '1 second'`.execute(setup.service.db),
      status: ({ uid }) => admin.put(`/users/${uid}/status`).send({ status: 'INACTIVE' }).expect(200),
      client: ({ client }) => sql`update clients set disabled = true where uid = ${client}`.execute(setup.service.db),
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
      const { person, ticket, code } = await createUserWithTicket(setup.service)
      await end(person)
      expect([name, (await complete(ticket, code())).status]).toEqual([name, 401])
    }
  })

  it('is not issued to a user who may not sign in, with a right or wrong password', async () => {
    const admin = await setup.service.as(['ROLE_SUPER_ADMIN'])
    const { person } = await createUserWithTicket(setup.service)
    await admin.put(`/users/${person.uid}/status`).send({ status: 'INACTIVE' }).expect(200)
    const [right, wrong] = [await login(person.username), await login(person.username, 'not-the-right-one')]
    expect([right.status, right.body.detail]).toEqual([401, wrong.body.detail])
  })
})

it('a code used for enrolment is rejected for the following sign-in', async () => {
  const person = await setup.service.as([])
  const { code } = await enrolSecondFactor(setup.service, person)
  const ticket = await requestTicket(setup.service, person)
  const used = code()
  await complete(ticket, used).expect(200)
  await complete(await requestTicket(setup.service, person), used).expect(401)
  await resetUsedCode(setup.service, person)
  await complete(await requestTicket(setup.service, person), code()).expect(200)
})
