import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auditOf, clientBody, startService, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

describe('organisation management', () => {
  it('creates, reads, updates and deletes an organisation, and writes an audit entry for each change', async () => {
    const sent = clientBody({ translations: [{ locale: 'fr', property: 'name', value: 'Société' }] })
    const { body } = await admin.post('/clients').send(sent).expect(201)
    expect(body).toMatchObject(sent)
    expect(
      (await admin.get(`/clients/${body.id}`).set('accept-language', 'fr-CA, en;q=0.5').expect(200)).body.displayName,
    ).toBe('Société')
    expect((await admin.get(`/clients?locale=fr&filter=id:eq:${body.id}`).expect(200)).body[0].displayName).toBe(
      'Société',
    )

    const put = await admin
      .put(`/clients/${body.id}`)
      .set('if-match', '"1"')
      .send({ ...body, billingCode: 'B-2' })
      .expect(200)
    expect(put.body).toMatchObject({ billingCode: 'B-2', translations: sent.translations })
    await admin.put(`/clients/${body.id}`).set('if-match', '"1"').send(body).expect(412)
    const refused = await admin.delete(`/clients/${body.id}`).expect(409)
    expect(refused.body.errors).toEqual([
      { pointer: '/disabled', detail: 'Disable this organisation before you delete it.' },
    ])
    await admin
      .put(`/clients/${body.id}`)
      .send({ ...put.body, disabled: true })
      .expect(200)
    await admin.delete(`/clients/${body.id}`).expect(204)
    await admin.get(`/clients/${body.id}`).expect(404)
    const known = await service
      .service()
      .post('/lookups/deleted-clients')
      .send({ ids: [body.id, admin.client] })
      .expect(200)
    expect(known.body).toEqual([{ id: body.id, code: body.code, name: body.name, deleted: expect.any(String) }])
    const rows = await auditOf(service.db, body.id)
    expect(rows.map(({ operation }) => operation)).toEqual([
      'clients.create',
      'clients.update',
      'clients.update',
      'clients.delete',
    ])
    expect(rows[1]!.details).toMatchObject({ before: { billingCode: 'B-1' }, after: { billingCode: 'B-2' } })
  })

  it('rejects a code or name that another organisation has, ignoring case', async () => {
    const taken = clientBody()
    await admin.post('/clients').send(taken).expect(201)
    const code = await admin
      .post('/clients')
      .send(clientBody({ code: taken.code.toUpperCase() }))
      .expect(409)
    expect(code.body.errors).toEqual([{ pointer: '/code', detail: expect.any(String) }])
    const name = await admin
      .post('/clients')
      .send(clientBody({ name: taken.name.toUpperCase() }))
      .expect(409)
    expect(name.body.errors[0].pointer).toBe('/name')
  })

  it('rejects codes that are blank or contain control characters', async () => {
    for (const field of ['code', 'billingCode'])
      for (const bad of ['a\nb', 'a\tb', 'ab\u0085', '   ']) {
        const { body } = await admin
          .post('/clients')
          .send({ ...clientBody(), [field]: bad })
          .expect(400)
        expect(body.errors).toEqual([
          { pointer: `/${field}`, detail: expect.stringMatching(/^must (be one line|not be blank)/) },
        ])
      }
  })

  it('validates contact addresses, and finds organisations by contact and time zone', async () => {
    const bad = [
      ['primaryContact/email', { primaryContact: { email: 'not mail' } }],
      ['billingContact/email', { billingContact: { email: 'a@b.org\nBcc: x@y.org' } }],
      ['technicalContact/phoneNumber', { technicalContact: { phoneNumber: '1\n2' } }],
      ['routeNotificationEmailAddresses', { routeNotificationEmailAddresses: 'garbage' }],
    ] as const
    for (const [pointer, changes] of bad) {
      const { body } = await admin.post('/clients').send(clientBody(changes)).expect(400)
      expect(body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([`/${pointer}`])
    }
    const email = `ops@${clientBody().code}.example.org`
    const sent = clientBody({
      technicalContact: { email },
      timeZone: 'Europe/Oslo',
      routeNotificationEmailAddresses: 'a@b.org, c@d.org',
    })
    const { body: created } = await admin.post('/clients').send(sent).expect(201)
    const filters = [`technicalContact.email:eq:${email}`, 'timeZone:eq:Europe/Oslo'].map((one) => `filter=${one}`)
    expect((await admin.get(`/clients?${filters.join('&')}`).expect(200)).body).toMatchObject([{ id: created.id }])
  })

  it('rejects an empty or second translation of a property in the same language', async () => {
    const post = (translations: object[]) => admin.post('/clients').send({ ...clientBody(), translations })
    const fr = { locale: 'fr', property: 'name', value: 'Nord' }
    expect((await post([fr, { ...fr, property: 'NAME', value: 'Sud' }]).expect(400)).body.errors).toEqual([
      { pointer: '/translations', detail: 'must not contain two items with the same locale and property' },
    ])
    await post([{ ...fr, value: '' }]).expect(400)
    await post([fr, { ...fr, locale: 'de' }]).expect(201)
  })

  it('rejects the deletion of an organisation that has users', async () => {
    const client = await service.client({ disabled: true })
    await service.user({ client })
    const { body } = await admin.delete(`/clients/${client}`).expect(409)
    expect(body.detail).toContain('users')
  })

  it('lets administrators read their own organisation, and only super admins change it', async () => {
    const manager = await service.as(['ROLE_MANAGE_CLIENT'])
    const { body } = await manager.get(`/clients/${manager.client}`).expect(200)
    expect((await manager.get('/clients').expect(200).expect('x-total-count', '1')).body).toEqual([body])
    await manager.get(`/clients/${admin.client}`).expect(404)
    await manager.put(`/clients/${manager.client}`).send(body).expect(403)
    await manager.post('/clients').send(clientBody()).expect(403)
    await manager.delete(`/clients/${manager.client}`).expect(403)
  })

  it('lets administrators change the profile of their organisation, and no property reserved for the operator', async () => {
    const manager = await service.as(['ROLE_MANAGE_CLIENT'])
    const profile = `/clients/${manager.client}/profile`
    const { body } = await manager.get(`/clients/${manager.client}`).expect(200)
    const changes = {
      name: `${body.name} (new)`,
      translations: [{ locale: 'fr', property: 'name', value: 'Société' }],
      primaryContact: { name: 'Ada' },
      technicalContact: { email: 'ops@example.org' },
      billingContact: { phoneNumber: '1' },
      routeNotificationEmailAddresses: 'a@example.org',
    }
    const put = await manager
      .put(profile)
      .set('if-match', '"1"')
      .send({ ...body, ...changes })
      .expect(200)
    expect(put.body).toEqual({ ...body, ...changes, displayName: changes.name, lastUpdated: expect.any(String) })
    expect((await manager.get(`/clients/${manager.client}`)).body).toEqual(put.body)
    await manager.put(profile).set('if-match', '"1"').send(body).expect(412)

    const others = {
      code: 'other',
      billingCode: 'other',
      disabled: true,
      domain: 'DATA_MART_PROGRAM',
      managerEnabled: false,
      routesEnabled: false,
      pipelinesEnabled: false,
      enterpriseEnabled: true,
    }
    for (const [name, value] of Object.entries(others)) {
      const answer = await manager.put(profile).send({ ...put.body, name: 'Not this', [name]: value })
      expect([name, answer.status, answer.body.detail]).toEqual([name, 403, expect.stringContaining(` ${name}.`)])
    }
    expect((await manager.get(`/clients/${manager.client}`)).body).toEqual(put.body)
    await manager
      .put(`/clients/${admin.client}/profile`)
      .send({ ...body, id: admin.client })
      .expect(404)
    const rows = await auditOf(service.db, manager.client)
    expect(rows).toMatchObject([
      { operation: 'clients.updateProfile', details: { before: { name: body.name }, after: { name: changes.name } } },
    ])
  })

  it('ends the sessions and logins of all users when an organisation is disabled', async () => {
    const user = await service.as([])
    const { body } = await admin.get(`/clients/${user.client}`).expect(200)
    await admin
      .put(`/clients/${user.client}`)
      .send({ ...body, disabled: true })
      .expect(200)
    await user.get('/session').expect(401)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: user.tokens.refreshToken }).expect(401)
    await admin.put(`/clients/${user.client}`).send(body).expect(200)
    await user.get('/session').expect(401)
    await service.signIn(user.username)
  })

  it('uses UTC for an organisation without a time zone, and lets its administrators set one', async () => {
    const manager = await service.as(['ROLE_MANAGE_CLIENT'])
    const { body } = await manager.get(`/clients/${manager.client}`).expect(200)
    expect(body.timeZone).toBeUndefined()
    const profile = `/clients/${manager.client}/profile`
    for (const timeZone of ['Europe/Oslo', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'UTC'])
      await manager
        .put(profile)
        .send({ ...body, timeZone })
        .expect(200)
        .expect(({ body: put }) => expect(put.timeZone).toBe(timeZone))
    for (const timeZone of ['Mars/Olympus', 'Europe/Oslo2', 'oslo', 'x'.repeat(65)])
      await manager
        .put(profile)
        .send({ ...body, timeZone })
        .expect(422)
        .expect(({ body: problem }) => expect(problem.errors).toMatchObject([{ pointer: '/timeZone' }]))
    for (const timeZone of ['+02:00', '', 'Europe/Oslo; drop table clients'])
      await manager
        .put(profile)
        .send({ ...body, timeZone })
        .expect(400)
    await manager.put(profile).send(body).expect(200)
    expect((await manager.get(`/clients/${manager.client}`)).body.timeZone).toBeUndefined()
  })

  it('finds an organisation by every property listed as searchable', async () => {
    const names = [
      'id',
      'name',
      'displayName',
      'code',
      'billingCode',
      'disabled',
      'domain',
      'managerEnabled',
      'routesEnabled',
      'pipelinesEnabled',
      'enterpriseEnabled',
      'created',
      'lastUpdated',
    ]
    await admin
      .post('/clients/search')
      .send({ filter: names.map((name) => `${name}:!null`), order: ['code:idesc'], paging: {} })
      .expect(200)
    const { body } = await admin.get(`/clients/${admin.client}`)
    const found = await admin
      .post('/clients/search')
      .send({ query: body.code, filter: [`created:eq:${body.created}`], paging: {} })
      .expect(200)
    expect(found.body).toEqual([body])
  })
})
