import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { UserBody } from '@sluice/contracts'
import { auditOf, goodPassword, startService, userBody, type Service } from './app-under-test.ts'
import { tokenIn } from './mailed-links.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService({ ADMIN_SETS_PASSWORDS: false })
  admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'])
})
afterAll(() => service.stop())

const password = 'otters-juggle-17-plums'
const invite = async (changes: Partial<UserBody> = {}) => {
  const { body } = await admin.post('/users/invite').send(userBody(changes)).expect(201)
  return { ...body, token: tokenIn(body.invitationLink) } as {
    id: string
    username: string
    token: string
    status: string
  }
}
const accept = (body: object) => service.http.post('/api/v1/auth/accept-invitation').send(body)
const statusOf = async (uid: string) => (await admin.get(`/users/${uid}`).expect(200)).body.status
const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer)

describe('an invitation', () => {
  it('sets the password of the user once on acceptance', async () => {
    const created = await admin
      .post('/users/invite')
      .send(userBody({ auths: ['ROLE_SEE_VIEW'] }))
      .expect(201)
      .expect('etag', '"1"')
    const { id, username, status, invitationLink } = created.body
    expect(created.headers['location']).toBe(`/api/v1/users/${id}`)
    expect(status).toBe('INVITATION')
    expect(invitationLink).toMatch(/^http:\/\/localhost:3001\/account\/invitation\?token=sll_[\w-]{43}$/)
    await service.http.post('/api/v1/auth/login').send({ username, password }).expect(401)

    const token = tokenIn(invitationLink)
    await accept({ token, password }).expect(204)
    expect(await statusOf(id)).toBe('ACTIVE')
    await service.signIn(username, password)
    expect(pointers((await accept({ token, password }).expect(422)).body)).toEqual(['/token'])
  })

  it('lets one of several concurrent acceptances succeed', async () => {
    const { token, username } = await invite()
    const passwords = Array.from({ length: 8 }, (_, index) => `otters-juggle-${index}-plums`)
    const answers = await Promise.all(passwords.map((password) => accept({ token, password })))
    const won = answers.map(({ status }) => status === 204)
    expect(won.filter(Boolean)).toHaveLength(1)
    await service.signIn(username, passwords[won.indexOf(true)])
  })

  it('stays valid after a rejected password', async () => {
    const { token } = await invite()
    expect(pointers((await accept({ token, password: 'Password12345' }).expect(422)).body)).toEqual(['/password'])
    expect(pointers((await accept({ token }).expect(422)).body)).toEqual(['/password'])
    await accept({ token, password }).expect(204)
  })

  it('expires after seven days', async () => {
    const { token, id } = await invite()
    const { rows } = await sql<{ hours: number }>`
      update links set expires_at = now() - interval '1 second' where user_id = (select id from users where uid = ${id})
      returning extract(epoch from old.expires_at - old.created_at)::float8 / 3600 as hours`.execute(service.db)
    expect(rows[0]!.hours).toBeCloseTo(168)
    await accept({ token, password }).expect(422)
  })

  it('is invalidated by a new invitation', async () => {
    const { token, id } = await invite()
    const { body } = await admin.post(`/users/${id}/invite`).expect(200)
    await accept({ token, password }).expect(422)
    await accept({ token: tokenIn(body.invitationLink), password }).expect(204)
    await admin.post(`/users/${id}/invite`).expect(409)
  })

  it('is invalidated by a new address, deactivation or deletion of the user, and paused while the organisation is disabled', async () => {
    const moved = await invite()
    const { token: _, ...sent } = moved
    await admin.put(`/users/${moved.id}`).send({ ...sent, email: 'elsewhere@example.org', invitationLink: undefined })
    await accept({ token: moved.token, password }).expect(422)

    const shutOut = await invite()
    await admin.put(`/users/${shutOut.id}/status`).send({ status: 'INACTIVE' }).expect(200)
    await accept({ token: shutOut.token, password }).expect(422)
    await admin.put(`/users/${shutOut.id}/status`).send({ status: 'ACTIVE' }).expect(422)
    const again = await admin.post(`/users/${shutOut.id}/invite`).expect(200)
    expect(again.body.status).toBe('INVITATION')
    await accept({ token: tokenIn(again.body.invitationLink), password }).expect(204)

    const gone = await invite()
    await admin.delete(`/users/${gone.id}`).expect(204)
    await accept({ token: gone.token, password }).expect(422)

    const waiting = await invite()
    await sql`update clients set disabled = true where uid = ${admin.client}`.execute(service.db)
    await accept({ token: waiting.token, password }).expect(422)
    await sql`update clients set disabled = false where uid = ${admin.client}`.execute(service.db)
    await accept({ token: waiting.token, password }).expect(204)
  })

  it('needs no password for a single sign-on user, and is not accepted by an update of the user', async () => {
    const body = userBody({ ssoAuth: true, ssoId: 's-77' })
    const created = await admin.post('/users/invite').send(body).expect(201)
    await admin.put(`/users/${created.body.id}`).send(body).expect(200)
    expect(await statusOf(created.body.id)).toBe('INVITATION')
    const token = tokenIn(created.body.invitationLink)
    expect(pointers((await accept({ token, password }).expect(422)).body)).toEqual(['/password'])
    await accept({ token }).expect(204)
    expect(await statusOf(created.body.id)).toBe('ACTIVE')
  })

  it('rejects a password, a role that the inviter lacks, and a resend by an administrator who lacks a role of the user', async () => {
    await admin
      .post('/users/invite')
      .send(userBody({ password: goodPassword }))
      .expect(422)
    await admin
      .post('/users/invite')
      .send(userBody({ auths: ['ROLE_MANAGE_SCHEMA'] }))
      .expect(403)
    const strong = await service.user({ client: admin.client, roles: ['ROLE_MANAGE_SCHEMA'], status: 'INVITATION' })
    await admin.post(`/users/${strong.uid}/invite`).expect(403)
  })

  it('returns the link to a signed-in administrator only; an API token gets none and the mail is stored', async () => {
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const token = { name: 'Robot', roles: ['ROLE_MANAGE_USER'], expires, password: goodPassword }
    const robot = service.withToken((await admin.post('/users/me/api-tokens').send(token).expect(201)).body.token)
    const { body } = await robot.post('/users/invite').send(userBody()).expect(201)
    expect(body).not.toHaveProperty('invitationLink')
    expect((await robot.post(`/users/${body.id}/invite`).expect(200)).body).not.toHaveProperty('invitationLink')
    const copies = await robot.post(`/users/${body.id}/copies`).send(userBody()).expect(201)
    expect(copies.body[1]).not.toHaveProperty('invitationLink')
    const mails = await admin.get(`/mails?filter=user.id:eq:${body.id}`).expect(200)
    expect(mails.body[0]).toMatchObject({ kind: 'INVITATION', state: 'KEPT' })
  })

  it('writes audit entries for inviter and accepter without the link', async () => {
    const { id, token } = await invite()
    await accept({ token, password }).expect(204)
    const rows = await auditOf(service.db, id)
    expect(rows.map(({ operation, actor }) => [operation, actor])).toEqual([
      ['users.invite', admin.uid],
      ['auth.acceptInvitation', id],
    ])
    expect(JSON.stringify(rows)).not.toContain(token)
  })
})

describe('a user without a password', () => {
  it('is created by invitation only, unless administrators may choose passwords', async () => {
    const { body } = await admin.post('/users').send(userBody()).expect(422)
    expect(body.detail).toContain('POST /users/invite')
    await admin
      .post('/users')
      .send(userBody({ password: goodPassword }))
      .expect(422)
    await admin
      .post('/users')
      .send(userBody({ ssoAuth: true }))
      .expect(201)
  })

  it('must be invited again after losing the only way to sign in', async () => {
    const body = userBody({ ssoAuth: true })
    const created = await admin.post('/users').send(body).expect(201)
    const left = await admin
      .put(`/users/${created.body.id}`)
      .send({ ...body, ssoAuth: false })
      .expect(200)
    expect(left.body.status).toBe('INVITATION')
    const again = await admin.post(`/users/${created.body.id}/invite`).expect(200)
    await accept({ token: tokenIn(again.body.invitationLink), password }).expect(204)
    await service.signIn(body.username, password)
  })
})

describe('a copy of a user', () => {
  it('takes roles, groups and organisation from the original, and everything else from the body', async () => {
    const { uid: original } = await service.user({ client: admin.client, roles: ['ROLE_SEE_VIEW'] })
    await sql`
      with team as (insert into user_groups (client, name, code) values (${admin.client}, 'Copied', 'COPIED') returning id)
      insert into user_group_members select team.id, u.id from team, users u where u.uid = ${original}`.execute(
      service.db,
    )
    const sent = userBody({ name: 'Copy', auths: ['ROLE_SEE_VIEW'], startPage: 'MANAGER' })
    const { body } = await admin.post(`/users/${original}/copies`).send(sent).expect(201)
    expect(body).toHaveLength(2)
    expect(body[0]).toMatchObject({ id: original, status: 'ACTIVE' })
    expect(body[0]).not.toHaveProperty('invitationLink')
    expect(body[1]).toMatchObject({
      username: sent.username,
      name: 'Copy',
      startPage: 'MANAGER',
      auths: ['ROLE_SEE_VIEW'],
      status: 'INVITATION',
      client: { id: admin.client },
      userGroups: [{ code: 'COPIED' }],
    })
    await accept({ token: tokenIn(body[1].invitationLink), password }).expect(204)
    await service.signIn(sent.username, password)
  })

  it('is rejected when the body contradicts the original, unless the original changed after it was read', async () => {
    const { uid: original } = await service.user({ client: admin.client, roles: ['ROLE_SEE_VIEW'] })
    const { body: read } = await admin.get(`/users/${original}`).expect(200)
    const copy = (changes: object) => admin.post(`/users/${original}/copies`).send({ ...userBody(), ...changes })
    const other = await service.client()
    for (const [field, value] of [
      ['auths', ['ROLE_MANAGE_USER']],
      ['auths', []],
      ['client', { id: other }],
      ['userGroups', [{ id: other }]],
    ] as const)
      for (const lastUpdated of [undefined, read.lastUpdated]) {
        const { body } = await copy({ [field]: value, lastUpdated }).expect(422)
        expect(pointers(body)).toEqual([`/${field}`])
      }
    const old = await copy({ auths: [], lastUpdated: '2020-01-01T00:00:00.000Z' }).expect(201)
    expect(old.body[1].auths).toEqual(['ROLE_SEE_VIEW'])
    const { id: _id, username: _username, ...same } = read
    await copy({ ...same, ...userBody() }).expect(201)
  })

  it('is rejected in a disabled organisation', async () => {
    const boss = await service.as(['ROLE_SUPER_ADMIN'])
    const client = await service.client({ disabled: true })
    for (const path of ['/users/invite']) {
      const { body } = await boss
        .post(path)
        .send(userBody({ client: { id: client } }))
        .expect(409)
      expect(pointers(body)).toEqual(['/client'])
    }
    const waiting = await service.user({ client, status: 'INVITATION' })
    await boss.post(`/users/${waiting.uid}/invite`).expect(409)
    const active = await service.user({ client })
    await boss.post(`/users/${active.uid}/copies`).send(userBody()).expect(409)
  })

  it('is rejected if the caller lacks a role of the original, and returns 404 for an original of another organisation', async () => {
    const strong = await service.user({ client: admin.client, roles: ['ROLE_MANAGE_SCHEMA'] })
    await admin.post(`/users/${strong.uid}/copies`).send(userBody()).expect(403)
    const foreign = await service.user({ client: await service.client() })
    await admin.post(`/users/${foreign.uid}/copies`).send(userBody()).expect(404)
    const superAdmin = await service.as(['ROLE_SUPER_ADMIN'])
    const { body } = await superAdmin.post(`/users/${foreign.uid}/copies`).send(userBody()).expect(201)
    expect(body[1].client.id).toBe(foreign.client)
  })
})
