import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auditOf, goodPassword, startService, userBody, type Service } from './app-under-test.ts'
import { tokenIn } from './mailed-links.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
})
afterAll(() => service.stop())

const mailsOf = async (user: string, by = admin) => (await by.get(`/mails?filter=user.id:eq:${user}`).expect(200)).body

describe('stored mails without a mail server', () => {
  it('are readable by administrators who hold the roles of the recipient, with one audit entry per read', async () => {
    const { body } = await admin.post('/users/invite').send(userBody()).expect(201)
    const [mail, ...others] = await mailsOf(body.id)
    expect(others).toEqual([])
    expect(mail).toMatchObject({
      client: admin.client,
      user: { id: body.id, username: body.username },
      kind: 'INVITATION',
      recipient: body.email,
      state: 'KEPT',
      attempts: 0,
    })
    expect(JSON.stringify(mail)).not.toContain('token=')
    const read = await admin.get(`/mails/${mail.id}`).expect(200)
    expect(tokenIn(read.body.text)).toBe(tokenIn(body.invitationLink))
    const [row, ...more] = await auditOf(service.db, mail.id)
    expect([row, more]).toMatchObject([
      { operation: 'mails.read', actor: admin.uid, details: { kind: 'INVITATION' } },
      [],
    ])
  })

  it('are not readable by callers who lack a role of the recipient, by the recipient, or with an API token', async () => {
    const strong = await service.user({ client: admin.client, roles: ['ROLE_MANAGE_SCHEMA'] })
    const superAdmin = await service.as(['ROLE_SUPER_ADMIN'], admin.client)
    await superAdmin.post(`/users/${strong.uid}/password-reset`).expect(204)
    const [mail] = await mailsOf(strong.uid)
    await admin.get(`/mails/${mail.id}`).expect(403)
    await superAdmin.get(`/mails/${mail.id}`).expect(200)

    await superAdmin.post(`/users/${admin.uid}/password-reset`).expect(204)
    const [own] = await mailsOf(admin.uid)
    await admin.get(`/mails/${own.id}`).expect(403)

    const { body: weak } = await admin.post('/users/invite').send(userBody()).expect(201)
    const [kept] = await mailsOf(weak.id)
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const { body: created } = await admin
      .post('/users/me/api-tokens')
      .send({ name: 'Script', roles: ['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'], expires, password: goodPassword })
      .expect(201)
    await service.withToken(created.token).get('/mails').expect(200)
    await service.withToken(created.token).get(`/mails/${kept.id}`).expect(403)
  })

  it('are listed newest first, of the caller’s organisation or, for a super admin, of all organisations', async () => {
    const other = await service.as(['ROLE_MANAGE_USER'])
    const created = []
    for (let at = 0; at < 3; at++)
      created.push((await other.post('/users/invite').send(userBody()).expect(201)).body.id)
    const { body: theirs } = await other.get('/mails').expect(200).expect('x-total-count', '3')
    expect(theirs.map(({ user }: { user: { id: string } }) => user.id)).toEqual(created.toReversed())
    await admin.get(`/mails/${theirs[0].id}`).expect(404)
    expect(await mailsOf(created[0]!)).toEqual([])
    const superAdmin = await service.as(['ROLE_SUPER_ADMIN'])
    expect(await mailsOf(created[0]!, superAdmin)).toHaveLength(1)
    await superAdmin.get(`/mails/${theirs[0].id}`).expect(200)
    expect((await other.get('/mails?filter=kind:eq:INVITATION&filter=state:eq:SENT').expect(200)).body).toEqual([])
    await other.get('/mails?filter=body:like:a').expect(400)
  })
})

describe('the text of a mail', () => {
  const textFor = async (name: string, username?: string) => {
    const sent = userBody({ name, ...(username && { username }), password: goodPassword })
    const { body } = await admin.post('/users').send(sent).expect(201)
    await admin.post(`/users/${body.id}/password-reset`).expect(204)
    const [mail] = await mailsOf(body.id)
    expect(mail.subject).toBe('Choose a new Sluice password')
    return (await admin.get(`/mails/${mail.id}`).expect(200)).body.text as string
  }

  it('contains the name of the recipient if it looks like a name', async () => {
    for (const name of ['Ada Lovelace', 'Flann O’Brien', 'Jean-Luc (Paris)', 'Dr. 王小明', 'J. R. Hartley'])
      expect(await textFor(name)).toMatch(new RegExp(`^Hello ${RegExp.escape(name)},\n`))
  })

  it('contains no link, markup or line from the name of a user', async () => {
    const names = [
      'Your account is blocked, see https://evil.example/help',
      'Please visit evil.example',
      '<a href="https://evil.example">here</a>',
      'www.evil.example',
      'evil．example／x',
      '\u202egnihtyna',
      'Please read this long message in our name '.repeat(4),
    ]
    for (const name of names) {
      const text = await textFor(name)
      expect(text).toMatch(/^Hello,\n/)
      expect(text.match(/evil|<a|https?:/g)).toEqual(['http:'])
    }
    expect(await textFor('Ada', `x${Date.now()}.evil.example`)).not.toContain('evil')
    expect(await textFor('Ada', `ada${Date.now()}@example.org`)).toContain('@example.org')
  })

  it('contains no line break from a name or an address', async () => {
    for (const changes of [
      { name: 'Ada\r\nBcc: all@example.org' },
      { email: 'ada@example.org\r\nBcc: all@example.org' },
    ])
      await admin
        .post('/users/invite')
        .send({ ...userBody(), ...changes })
        .expect(400)
    for (const email of ['a@example.org,b@example.org', '"a b"@example.org', 'a@[127.0.0.1]', '<a@example.org>'])
      await admin.post('/users/invite').send(userBody({ email })).expect(400)
  })
})
