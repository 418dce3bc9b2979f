import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, goodPassword, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_USER_GROUP'])
})
afterAll(() => service.stop())

const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer).toSorted()

describe('a user', () => {
  it('is created with a password, signs in, and is unchanged when sent back as read', async () => {
    const sent = userBody({
      password: goodPassword,
      auths: ['ROLE_SEE_VIEW'],
      fileAccessInstances: ['a', 'b'],
      ssoId: 's-1',
    })
    const created = await admin.post('/users').send(sent).expect(201)
    expect(created.headers['location']).toBe(`/api/v1/users/${created.body.id}`)
    const { password: _, ...rest } = sent
    expect(created.body).toMatchObject({
      ...rest,
      status: 'ACTIVE',
      createdBy: admin.username,
      client: { id: admin.client },
    })
    await service.signIn(sent.username)

    const read = await admin.get(`/users/${created.body.id}`).expect(200).expect('etag', '"1"')
    const put = await admin
      .put(`/users/${created.body.id}`)
      .set('if-match', '"1"')
      .send(read.body)
      .expect(200)
      .expect('etag', '"2"')
    expect(put.body).toEqual({ ...read.body, lastUpdated: expect.any(String), existingAuths: ['ROLE_SEE_VIEW'] })
    await service.signIn(sent.username)
  })

  it('without a password is invited and cannot sign in until the first password is set', async () => {
    const sent = userBody()
    const { body } = await admin.post('/users').send(sent).expect(201)
    expect(body.status).toBe('INVITATION')
    await service.http.post('/api/v1/auth/login').send({ username: sent.username, password: goodPassword }).expect(401)
    const active = await admin
      .put(`/users/${body.id}`)
      .send({ ...sent, password: goodPassword })
      .expect(200)
    expect(active.body.status).toBe('ACTIVE')
    await service.signIn(sent.username)
  })

  it('is returned by an update with the previous roles, and loses properties that PUT omits', async () => {
    const sent = userBody({ auths: ['ROLE_SEE_VIEW', 'ROLE_SEE_SCHEMA'], ssoId: 'x' })
    const { body } = await admin.post('/users').send(sent).expect(201)
    const { ssoId: _, auths: __, ...less } = sent
    const put = await admin.put(`/users/${body.id}`).send(less).expect(200)
    expect(put.body).toMatchObject({ auths: [], existingAuths: ['ROLE_SEE_VIEW', 'ROLE_SEE_SCHEMA'] })
    expect(put.body).not.toHaveProperty('ssoId')
    expect((await admin.get(`/users/${body.id}`)).body).not.toHaveProperty('existingAuths')
  })

  it('loses every session when a new password is set', async () => {
    const { uid, username, client } = await service.as([])
    const one = await service.signIn(username)
    const superAdmin = await service.as(['ROLE_SUPER_ADMIN'], client)
    await superAdmin
      .put(`/users/${uid}`)
      .send(userBody({ username, password: 'a-brand-new-passphrase' }))
      .expect(200)
    await service.withToken(one.accessToken).get('/users/me').expect(401)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: one.refreshToken }).expect(401)
    await service.signIn(username, 'a-brand-new-passphrase')
  })

  it('keeps its sessions when an update removes nothing', async () => {
    const { uid, username, tokens } = await service.as(['ROLE_SEE_VIEW'], admin.client)
    await admin
      .put(`/users/${uid}`)
      .send(userBody({ username, auths: ['ROLE_SEE_VIEW', 'ROLE_SEE_SCHEMA'] }))
      .expect(200)
    await service.withToken(tokens.accessToken).get('/users/me').expect(200)
    const { body } = await service.withToken(tokens.accessToken).get('/session').expect(200)
    expect(body.user.preUpdateAuths).toEqual(['ROLE_SEE_VIEW'])
  })

  it('is not updated with a stale or malformed If-Match', async () => {
    const sent = userBody()
    const { body } = await admin.post('/users').send(sent).expect(201)
    await admin.put(`/users/${body.id}`).send(sent).expect(200)
    for (const stale of ['"1"', 'W/"2"', '"two"'])
      await admin.put(`/users/${body.id}`).set('if-match', stale).send(sent).expect(412)
    await admin.delete(`/users/${body.id}`).set('if-match', '"1"').expect(412)
    await admin.delete(`/users/${body.id}`).set('if-match', '"2"').expect(204)
    await admin.get(`/users/${body.id}`).expect(404)
  })

  it('cannot have a username that resembles another in any organisation', async () => {
    const elsewhere = await service.as(['ROLE_MANAGE_USER'])
    const { username } = await service.user({ client: admin.client })
    for (const like of [username, username.toUpperCase(), username.replace('u', 'ｕ')]) {
      const { body } = await elsewhere
        .post('/users')
        .send(userBody({ username: like }))
        .expect(409)
      expect(pointers(body)).toEqual(['/username'])
    }
    for (const odd of ['two words', 'zero\u200bwidth', '\u202eadmin'])
      expect(
        pointers(
          (
            await admin
              .post('/users')
              .send(userBody({ username: odd }))
              .expect(422)
          ).body,
        ),
      ).toEqual(['/username'])
    await admin
      .post('/users')
      .send(userBody({ username: 'tab\there' }))
      .expect(400)
  })

  it('is rejected with every error of the body', async () => {
    const { body } = await admin
      .post('/users')
      .send({
        ...userBody(),
        name: ' ',
        email: 'nobody',
        startPage: 'HOME',
        auths: ['ROLE_KING'],
        nickname: 'x',
        password: 'short',
      })
      .expect(400)
    expect(pointers(body)).toEqual(['/auths/0', '/email', '/name', '/nickname', '/password', '/startPage'])
  })

  it('is rejected with a common password, or with a password and single sign-on', async () => {
    for (const password of ['Password12345', 'QWERTYUIOPAS', 'abcabcabcabc', 'iloveyou123456!!'])
      await admin.post('/users').send(userBody({ password })).expect(422)
    await admin
      .post('/users')
      .send(userBody({ password: goodPassword, ssoAuth: true }))
      .expect(422)
    expect(
      (
        await admin
          .post('/users')
          .send(userBody({ ssoAuth: true }))
          .expect(201)
      ).body.status,
    ).toBe('INVITATION')
  })

  it('loses password and sessions when switched to single sign-on', async () => {
    const { uid, username, ...caller } = await service.as([], admin.client)
    await admin
      .put(`/users/${uid}`)
      .send(userBody({ username, ssoAuth: true }))
      .expect(200)
    await caller.get('/users/me').expect(401)
    await service.http.post('/api/v1/auth/login').send({ username, password: goodPassword }).expect(401)
  })

  it('cannot change its organisation, and its groups must belong to that organisation', async () => {
    const { rows } = await sql<{ uid: string }>`
      insert into user_groups (client, name, code) values (${admin.client}, 'Team', 'TEAM') returning uid`.execute(
      service.db,
    )
    const group = rows[0]!.uid
    const { body } = await admin
      .post('/users')
      .send(userBody({ userGroups: [{ id: group }] }))
      .expect(201)
    expect(body.userGroups).toMatchObject([{ id: group, client: { id: admin.client }, name: 'Team', code: 'TEAM' }])

    const other = await service.as(['ROLE_MANAGE_USER'])
    for (const id of [group, randomUUID()])
      expect(
        pointers(
          (
            await other
              .post('/users')
              .send(userBody({ userGroups: [{ id }] }))
              .expect(422)
          ).body,
        ),
      ).toEqual(['/userGroups/0/id'])
    for (const id of [other.client, randomUUID()])
      expect(
        pointers(
          (
            await admin
              .post('/users')
              .send(userBody({ client: { id } }))
              .expect(422)
          ).body,
        ),
      ).toEqual(['/client/id'])

    const superAdmin = await service.as(['ROLE_SUPER_ADMIN'])
    const there = await superAdmin
      .post('/users')
      .send(userBody({ client: { id: other.client } }))
      .expect(201)
    expect(there.body.client.id).toBe(other.client)
    await superAdmin
      .put(`/users/${there.body.id}`)
      .send({ ...there.body, client: { id: admin.client } })
      .expect(422)
  })

  it('has its state before and after a change in the audit log', async () => {
    const { body } = await admin
      .post('/users')
      .send(userBody({ password: goodPassword }))
      .expect(201)
    await admin
      .put(`/users/${body.id}`)
      .send({ ...body, name: 'Renamed' })
      .expect(200)
    await admin.delete(`/users/${body.id}`).expect(204)
    const rows = await auditOf(service.db, body.id)
    expect(rows.map(({ operation, actor }) => [operation, actor])).toEqual(
      ['users.create', 'users.update', 'users.delete'].map((operation) => [operation, admin.uid]),
    )
    expect(rows[1]!.details).toMatchObject({ before: { name: 'Grace', hasPassword: true }, after: { name: 'Renamed' } })
    expect(JSON.stringify(rows)).not.toMatch(/argon2|heron/)
  })
})
