import { sql } from 'kysely'
import { goodPassword, userBody } from '../app-under-test.ts'
import { linkFor } from '../mailed-links.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

/** Requests for invitations, password resets and their mails. */
export const mailRequests = ({ service, admin }: Stage): ValidRequests => {
  /** Gives a user a unique mail address, because the mails to one address are limited. */
  const withOwnAddress = async ({ uid, username }: { uid: string; username: string }) => {
    await sql`update users set email = ${`${username}@example.org`} where uid = ${uid}`.execute(service.db)
    return uid
  }
  const createUser = async () => withOwnAddress(await service.user({ client: admin.client }))
  const invited = async () => withOwnAddress(await service.user({ client: admin.client, status: 'INVITATION' }))
  const password = 'another-fine-phrase-7'
  return {
    'users.invite': async () => ({ body: userBody({ auths: ['ROLE_SEE_VIEW'] }) }),
    'users.resendInvitation': async () => ({ uid: await invited() }),
    'users.copy': async () => ({ uid: await createUser(), body: userBody() }),
    'users.startPasswordReset': async () => ({ uid: await createUser() }),
    'auth.acceptInvitation': async () => ({
      body: { token: await linkFor(service, await invited(), 'INVITATION'), password },
    }),
    'auth.forgotPassword': async () => ({
      body: { username: (await service.user({ client: admin.client })).username },
    }),
    'auth.resetPassword': async () => ({
      body: { token: await linkFor(service, await createUser(), 'PASSWORD_RESET'), password },
    }),
    'account.changePassword': async () => ({ body: { currentPassword: goodPassword, newPassword: password } }),
    'mails.list': async () => ({ query: '?filter=state:eq:KEPT' }),
    'mails.read': async () => {
      const uid = await createUser()
      await admin.post(`/users/${uid}/password-reset`).expect(204)
      const { body } = await admin.get(`/mails?filter=user.id:eq:${uid}`)
      return { uid: body[0].id }
    },
  }
}
