import { decodeJwt } from 'jose'
import { goodPassword } from '../app-under-test.ts'
import { totpCode, enrolSecondFactor } from '../enrol-second-factor.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

/** Requests that change how a user signs in, by the user or by an administrator. */
export const accountRequests = ({ service, admin }: Stage): ValidRequests => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const token = () => ({ name: 'Nightly', roles: [], expires: inDays(30), password: goodPassword })
  const createPerson = () => service.as([], admin.client)
  const tokenOf = async (person: Awaited<ReturnType<typeof createPerson>>) =>
    (await person.post('/users/me/api-tokens').send(token()).expect(201)).body.id as string
  return {
    'account.changeEmail': async () => ({
      by: await createPerson(),
      body: { email: 'new@example.org', password: goodPassword },
    }),
    'account.readSecondFactor': async () => ({}),
    'account.enrolSecondFactor': async () => ({ by: await createPerson(), body: { password: goodPassword } }),
    'account.confirmSecondFactor': async () => {
      const by = await createPerson()
      const { body } = await by.post('/users/me/second-factor').send({ password: goodPassword }).expect(200)
      return { by, body: { code: totpCode(body.secret) } }
    },
    'account.removeSecondFactor': async () => {
      const by = await createPerson()
      const { code } = await enrolSecondFactor(service, by)
      return { by, body: { code: code() } }
    },
    'account.renewRecoveryCodes': async () => {
      const by = await createPerson()
      await enrolSecondFactor(service, by)
      return { by, body: { password: goodPassword } }
    },
    'account.listApiTokens': async () => {
      const by = await createPerson()
      await tokenOf(by)
      return { by }
    },
    'account.createApiToken': async () => ({ by: await createPerson(), body: token() }),
    'account.deleteApiToken': async () => {
      const by = await createPerson()
      return { by, uid: await tokenOf(by) }
    },
    'account.listSessions': async () => ({}),
    'account.endSession': async () => {
      const by = await createPerson()
      return { by, uid: decodeJwt(by.tokens.accessToken)['sid'] as string }
    },
    'account.endOtherSessions': async () => ({}),

    'users.removeSecondFactor': async () => {
      const person = await createPerson()
      await enrolSecondFactor(service, person)
      return { uid: person.uid }
    },
    'users.listApiTokens': async () => {
      const person = await createPerson()
      await tokenOf(person)
      return { uid: person.uid }
    },
    'users.deleteApiToken': async () => {
      const person = await createPerson()
      return { uid: person.uid, params: { apiToken: await tokenOf(person) } }
    },
    'users.listSessions': async () => ({ uid: (await createPerson()).uid }),
    'users.endSessions': async () => ({ uid: (await createPerson()).uid }),
  }
}
