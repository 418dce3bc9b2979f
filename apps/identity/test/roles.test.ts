import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

describe('granting roles', () => {
  it('rejects a change or deletion of a user who holds a role that the caller lacks', async () => {
    const caller = await service.as(['ROLE_MANAGE_USER', 'ROLE_MANAGE_VIEW'])
    const stronger = await service.user({ client: caller.client, roles: ['ROLE_SEE_VIEW', 'ROLE_MANAGE_CLIENT'] })
    const weaker = await service.user({ client: caller.client, roles: ['ROLE_SEE_VIEW'] })
    await caller.get(`/users/${stronger.uid}`).expect(200)
    await caller
      .put(`/users/${stronger.uid}`)
      .send(userBody({ username: stronger.username }))
      .expect(403)
    await caller.delete(`/users/${stronger.uid}`).expect(403)
    await caller
      .put(`/users/${weaker.uid}`)
      .send(userBody({ username: weaker.username }))
      .expect(200)
    await caller.delete(`/users/${weaker.uid}`).expect(204)
  })
})

describe('the last super admin', () => {
  const startWithOneAdmin = async () => {
    const service = await startService()
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    return { ...service, admin, [Symbol.asyncDispose]: () => service.stop() }
  }

  it('cannot be deleted, demoted, deactivated or disabled with the organisation', async () => {
    await using setup = await startWithOneAdmin()
    const { admin } = setup
    // Super admins who cannot sign in now do not count.
    await setup.user({ client: admin.client, roles: ['ROLE_SUPER_ADMIN'], status: 'INACTIVE' })
    await setup.user({ client: admin.client, roles: ['ROLE_SUPER_ADMIN'], status: 'INVITATION' })
    await setup.user({ client: await setup.client({ disabled: true }), roles: ['ROLE_SUPER_ADMIN'] })
    await setup.user({ client: admin.client, roles: ['ROLE_SUPER_ADMIN'], ssoAuth: true })
    await admin.delete(`/users/${admin.uid}`).expect(422)
    await admin
      .put(`/users/${admin.uid}`)
      .send(userBody({ username: admin.username, email: 'test@example.org' }))
      .expect(422)
    const { body } = await admin.get(`/clients/${admin.client}`).expect(200)
    await admin
      .put(`/clients/${admin.client}`)
      .send({ ...body, disabled: true })
      .expect(422)
    await admin.get('/users/me').expect(200)

    const second = await setup.as(['ROLE_SUPER_ADMIN'])
    await second
      .put(`/users/${admin.uid}`)
      .send(userBody({ username: admin.username }))
      .expect(200)
    await second.delete(`/users/${second.uid}`).expect(422)
  })

  it('keeps the password, which is the only way to sign in', async () => {
    await using setup = await startWithOneAdmin()
    const { admin } = setup
    const single = userBody({
      username: admin.username,
      email: 'test@example.org',
      auths: ['ROLE_SUPER_ADMIN'],
      ssoAuth: true,
    })
    const { body } = await admin.put(`/users/${admin.uid}`).send(single).expect(422)
    expect(body.errors).toMatchObject([{ pointer: '/ssoAuth' }])
    await admin.get('/users/me').expect(200)
    await setup.signIn(admin.username)

    const second = await setup.as(['ROLE_SUPER_ADMIN'])
    await second.put(`/users/${admin.uid}`).send(single).expect(200)
    await second.delete(`/users/${second.uid}`).expect(422)
    // A super admin without a password does not count as the last one, so this user can be deleted.
    await second.delete(`/users/${admin.uid}`).expect(204)
  })

  it('remains when all super admins try to remove each other concurrently', async () => {
    await using setup = await startWithOneAdmin()
    const admins = [setup.admin, ...(await Promise.all([1, 2, 3].map(() => setup.as(['ROLE_SUPER_ADMIN']))))]
    const tries = admins.flatMap((by, index) => [
      by.delete(`/users/${admins[(index + 1) % 4]!.uid}`),
      by.put(`/users/${by.uid}`).send(userBody({ username: by.username, email: 'test@example.org' })),
    ])
    const answers = await Promise.all(tries)
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    const left = await Promise.all(admins.map(({ username }) => setup.signIn(username).catch(() => undefined)))
    const sessions = await Promise.all(
      left.map((tokens) => tokens && setup.withToken(tokens.accessToken).get('/users/me')),
    )
    expect(sessions.filter((me) => me?.body.auths?.includes('ROLE_SUPER_ADMIN'))).toHaveLength(1)
  })
})
