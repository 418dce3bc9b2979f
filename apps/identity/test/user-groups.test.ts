import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auditOf, startService, userBody, type Service } from './app-under-test.ts'
import { insertUserGroup, userGroupBody } from './user-group-fixtures.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER_GROUP', 'ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
})
afterAll(() => service.stop())

const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer)
const idsOf = ({ body }: { body: { id: string }[] }) => body.map(({ id }) => id)

describe('a user group', () => {
  it('accepts translations of name and description only', async () => {
    const save = (property: string) =>
      admin.post('/user-groups').send(userGroupBody({ translations: [{ locale: 'fr', property, value: 'Équipe' }] }))
    for (const property of ['name', 'NAME']) {
      const { body } = await save(property).expect(201)
      expect((await admin.get(`/user-groups/${body.id}?locale=fr`)).body.displayName).toBe('Équipe')
    }
    const described = userGroupBody({
      description: 'Who counts.',
      translations: [{ locale: 'fr', property: 'description', value: 'Qui compte.' }],
    })
    const { body } = await admin.post('/user-groups').send(described).expect(201)
    expect((await admin.get(`/user-groups/${body.id}?locale=fr`)).body.displayDescription).toBe('Qui compte.')
    expect((await save('nom').expect(400)).body.errors).toEqual([
      { pointer: '/translations/0/property', detail: 'must be one of: name, NAME, description, DESCRIPTION' },
    ])
  })

  it('is unchanged when sent back as read, and has a display name in the language of the reader', async () => {
    const translations = [{ locale: 'fr', property: 'NAME', value: 'Équipe' }]
    const sent = userGroupBody({ description: 'Who counts.', translations })
    const created = await admin.post('/user-groups').send(sent).expect(201).expect('etag', '"1"')
    expect(created.headers['location']).toBe(`/api/v1/user-groups/${created.body.id}`)
    expect(created.body).toMatchObject({ ...sent, displayName: sent.name, client: { id: admin.client } })

    const one = `/user-groups/${created.body.id}`
    const read = await admin.get(`${one}?locale=fr`).set('accept-language', 'fr').expect(200)
    expect(read.body).toMatchObject({ name: sent.name, displayName: 'Équipe' })
    const put = await admin.put(one).set('if-match', '"1"').send(read.body).expect(200).expect('etag', '"2"')
    expect(put.body).toEqual({ ...created.body, lastUpdated: expect.any(String) })
    await admin.put(one).set('if-match', '"1"').send(read.body).expect(412)
    const { description: _, ...less } = sent
    expect((await admin.put(one).send(less).expect(200)).body).not.toHaveProperty('description')
    await admin.delete(one).set('if-match', '"3"').expect(204)
    await admin.get(one).expect(404)
    expect((await auditOf(service.db, created.body.id)).map(({ operation }) => operation)).toEqual([
      'userGroups.create',
      'userGroups.update',
      'userGroups.update',
      'userGroups.delete',
    ])
  })

  it('must have a code that is not blank and unique in its organisation, ignoring case', async () => {
    const sent = userGroupBody()
    await admin.post('/user-groups').send(sent).expect(201)
    for (const code of [' ', 'a\nb']) await admin.post('/user-groups').send(userGroupBody({ code })).expect(400)
    const upper = userGroupBody({ code: sent.code.toUpperCase() })
    expect(pointers((await admin.post('/user-groups').send(upper).expect(409)).body)).toEqual(['/code'])
    expect(pointers((await admin.post('/user-groups').send(sent).expect(409)).body)).toEqual(['/code'])
    const other = await admin.post('/user-groups').send(userGroupBody()).expect(201)
    expect(pointers((await admin.put(`/user-groups/${other.body.id}`).send(sent).expect(409)).body)).toEqual(['/code'])
    const elsewhere = await service.as(['ROLE_MANAGE_USER_GROUP'])
    await elsewhere.post('/user-groups').send(sent).expect(201)
  })

  it('cannot change its organisation, and can be created in another one only by users with access to all', async () => {
    const client = await service.client()
    for (const id of [client, randomUUID()]) {
      const { body } = await admin
        .post('/user-groups')
        .send(userGroupBody({ client: { id } }))
        .expect(422)
      expect(pointers(body)).toEqual(['/client/id'])
    }
    const root = await service.as(['ROLE_SUPER_ADMIN'])
    const { body } = await root
      .post('/user-groups')
      .send(userGroupBody({ client: { id: client } }))
      .expect(201)
    expect(body.client.id).toBe(client)
    await root
      .put(`/user-groups/${body.id}`)
      .send({ ...body, client: { id: root.client } })
      .expect(422)
    for (const ask of ['get', 'delete'] as const) await admin[ask](`/user-groups/${body.id}`).expect(404)
    expect(idsOf(await admin.get('/user-groups?paging=false').expect(200))).not.toContain(body.id)
    expect(idsOf(await root.get(`/user-groups?filter=client.id:eq:${client}`).expect(200))).toEqual([body.id])
  })

  it('is found by name, code and id', async () => {
    const { body } = await admin
      .post('/user-groups')
      .send(userGroupBody({ name: 'Field teams 100%' }))
      .expect(201)
    for (const query of ['LD TEAMS 100%', body.code.slice(2), body.id]) {
      const found = await admin.post('/user-groups/search').send({ query, paging: {} }).expect(200)
      expect(idsOf(found)).toEqual([body.id])
    }
    const filter = [`code:$like:${body.code}`, 'client.code:!null', 'description:null']
    expect(idsOf(await admin.post('/user-groups/search').send({ filter, paging: {} }).expect(200))).toEqual([body.id])
  })
})

describe('the members of a user group', () => {
  const inGroup = async () => {
    const uid = await insertUserGroup(service.db, admin.client)
    const user = await service.user({ client: admin.client, roles: ['ROLE_SEE_VIEW'] })
    return { uid, user, members: `/user-groups/${uid}/users`, member: `/user-groups/${uid}/users/${user.uid}` }
  }

  it('cause an audit entry for every addition and removal, with the groups joined and left', async () => {
    const [one, two] = [userGroupBody(), userGroupBody()]
    const groups = await Promise.all([one, two].map((body) => admin.post('/user-groups').send(body).expect(201)))
    const [first, second] = groups.map(({ body }) => ({ id: body.id as string, code: body.code as string }))
    const invited = await admin
      .post('/users/invite')
      .send(userBody({ userGroups: [{ id: first!.id }] }))
      .expect(201)
    const { invitationLink: _link, ...user } = invited.body
    const put = (userGroups: object[]) =>
      admin
        .put(`/users/${user.id}`)
        .send({ ...user, userGroups })
        .expect(200)
    await put([{ id: second!.id }])
    await put([{ id: second!.id }])
    const copies = await admin.post(`/users/${user.id}/copies`).send(userBody()).expect(201)
    const created = await admin
      .post('/users')
      .send(userBody({ userGroups: [{ id: first!.id }] }))
      .expect(201)
    await admin.delete(`/users/${user.id}`).expect(204)
    const changes = async (uid: string) =>
      (await auditOf(service.db, uid)).map(({ operation, details }) => [operation, details['userGroups']])
    expect(await changes(user.id)).toEqual([
      ['users.invite', { joined: [first], left: [] }],
      ['users.update', { joined: [second], left: [first] }],
      ['users.update', undefined],
      ['users.delete', { joined: [], left: [second] }],
    ])
    expect(await changes(copies.body[1].id)).toEqual([['users.copy', { joined: [second], left: [] }]])
    expect(await changes(created.body.id)).toEqual([['users.create', { joined: [first], left: [] }]])

    await admin.put(`/user-groups/${second!.id}/users/${created.body.id}`).expect(204)
    await admin.delete(`/user-groups/${second!.id}`).expect(204)
    const rows = await auditOf(service.db, second!.id)
    expect(rows.find(({ details }) => 'members' in details)?.details).toMatchObject({ members: 2 })
    const root = await service.as(['ROLE_SUPER_ADMIN'], admin.client)
    const report = await root.get(
      `/reports/audit?filter=object.id:eq:${second!.id}&filter=operation:eq:userGroups.addMember`,
    )
    const name = report.body.headers.findIndex(({ column }: { column: string }) => column === 'object.name')
    expect(report.body.rows.map((row: unknown[]) => row[name])).toEqual([`${second!.code}: ${created.body.username}`])
  })

  it('can be added and removed repeatedly, with one audit entry for each change', async () => {
    const { uid, user, members, member } = await inGroup()
    for (const _ of [1, 2]) await admin.put(member).expect(204)
    expect(idsOf(await admin.get(members).expect(200).expect('x-total-count', '1'))).toEqual([user.uid])
    const { body, headers } = await admin.get(`/users/${user.uid}`).expect(200)
    expect(body.userGroups).toEqual([(await admin.get(`/user-groups/${uid}`)).body])
    expect(headers['etag']).toBe('"2"')
    for (const _ of [1, 2]) await admin.delete(member).expect(204)
    expect(idsOf(await admin.get(members).expect(200).expect('x-total-count', '0'))).toEqual([])
    const audit = await auditOf(service.db, uid)
    expect(audit.map(({ operation, details }) => [operation, details])).toEqual([
      ['userGroups.addMember', { code: expect.any(String), user: user.uid, username: user.username, changed: true }],
      ['userGroups.addMember', { code: expect.any(String), user: user.uid, username: user.username, changed: false }],
      ['userGroups.removeMember', { code: expect.any(String), user: user.uid, username: user.username, changed: true }],
      [
        'userGroups.removeMember',
        { code: expect.any(String), user: user.uid, username: user.username, changed: false },
      ],
    ])
  })

  it('are kept when a user is replaced with a body that was read earlier', async () => {
    const { user, member } = await inGroup()
    const { body, headers } = await admin.get(`/users/${user.uid}`).expect(200)
    await admin.put(member).expect(204)
    await admin.put(`/users/${user.uid}`).set('if-match', headers['etag']!).send(body).expect(412)
  })

  it('are added once by concurrent requests', async () => {
    const { uid, members, member } = await inGroup()
    await Promise.all(Array.from({ length: 8 }, () => admin.put(member).expect(204)))
    await admin.get(members).expect('x-total-count', '1')
    expect((await auditOf(service.db, uid)).filter(({ details }) => details['changed'])).toHaveLength(1)
  })

  it('can be searched like users, and are removed with the group', async () => {
    const { uid, members } = await inGroup()
    for (const username of ['ann', 'bob', 'cid'].map((name) => `${name}-${uid.slice(0, 8)}`)) {
      const { uid: user } = await service.user({ client: admin.client, username })
      await admin.put(`${members}/${user}`).expect(204)
    }
    const found = await admin.get(`${members}?order=username:desc&pageSize=2`).expect(200).expect('x-total-count', '3')
    expect(found.body.map(({ username }: { username: string }) => username.slice(0, 3))).toEqual(['cid', 'bob'])
    expect((await admin.get(`${members}?query=ANN-&filter=status:eq:INACTIVE&rootJunction=OR`)).body).toHaveLength(0)
    expect((await admin.get(`${members}?query=ANN-`)).body).toHaveLength(1)
    await admin.delete(`/user-groups/${uid}`).expect(204)
    await admin.get(members).expect(404)
    expect((await admin.get(`/users/${found.body[0].id}`).expect(200)).body.userGroups).toEqual([])
  })

  it('must belong to the organisation of the group, even for a super admin, and are hidden from others', async () => {
    const { members, member } = await inGroup()
    const root = await service.as(['ROLE_SUPER_ADMIN'])
    const stranger = await service.user({ client: root.client })
    await root.put(`${members}/${stranger.uid}`).expect(404)
    await root.put(member).expect(204)
    const elsewhere = await service.as(['ROLE_MANAGE_USER_GROUP'])
    await elsewhere.get(members).expect(404)
    await elsewhere.put(`${members}/${elsewhere.uid}`).expect(404)
    await elsewhere.delete(member).expect(404)
    const own = await insertUserGroup(service.db, elsewhere.client)
    for (const user of [stranger.uid, randomUUID(), 'nobody']) {
      await elsewhere.put(`/user-groups/${own}/users/${user}`).expect(404)
      await elsewhere.delete(`/user-groups/${own}/users/${user}`).expect(404)
    }
    await admin.get(members).expect('x-total-count', '1')
  })

  it('cannot include the caller or a user with more roles', async () => {
    const { uid, members } = await inGroup()
    await admin.put(`${members}/${admin.uid}`).expect(403)
    const own = (await admin.get('/users/me').expect(200)).body
    await admin
      .put(`/users/${admin.uid}`)
      .send({ ...own, userGroups: [{ id: uid }] })
      .expect(403)
    const stronger = await service.as(['ROLE_SUPER_ADMIN'], admin.client)
    await admin.put(`${members}/${stronger.uid}`).expect(403)
    await stronger.put(`${members}/${stronger.uid}`).expect(204)
    await admin.delete(`${members}/${stronger.uid}`).expect(403)

    await stronger.put(`${members}/${admin.uid}`).expect(204)
    const { body } = await admin.get(`/users/${admin.uid}`).expect(200)
    await admin.put(`/users/${admin.uid}`).send(body).expect(200)
    await admin.delete(`${members}/${admin.uid}`).expect(204)
  })

  it('can be changed in a user body only by users who manage groups, and are kept otherwise', async () => {
    const { uid, user } = await inGroup()
    const weak = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'], admin.client)
    const userGroups = [{ id: uid }]
    await weak
      .post('/users')
      .send(userBody({ ssoAuth: true, userGroups }))
      .expect(403)
    await weak.post('/users/invite').send(userBody({ userGroups })).expect(403)
    const outsider = await service.user({ client: admin.client })
    await weak
      .put(`/users/${outsider.uid}`)
      .send(userBody({ username: outsider.username, userGroups }))
      .expect(403)
    await admin.put(`/user-groups/${uid}/users/${user.uid}`).expect(204)
    await weak.post(`/users/${user.uid}/copies`).send(userBody()).expect(403)
    const { body } = await weak.get(`/users/${user.uid}`).expect(200)
    await weak
      .put(`/users/${user.uid}`)
      .send({ ...body, userGroups: [] })
      .expect(403)
    await weak
      .put(`/users/${user.uid}`)
      .send({ ...body, name: 'Renamed' })
      .expect(200)
    await admin
      .put(`/users/${user.uid}`)
      .send({ ...body, userGroups: [] })
      .expect(200)
  })

  it('are in the session as short group objects', async () => {
    const { uid, members } = await inGroup()
    const member = await service.as([], admin.client)
    await admin.put(`${members}/${member.uid}`).expect(204)
    const { body } = await member.get('/session').expect(200)
    const [{ name, code }] = body.activeUser.userGroups
    expect(body.user.userGroups).toEqual([{ id: uid, client: admin.client, name, code }])
  })
})
