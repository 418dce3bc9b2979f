import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { clientBody, startService, userBody, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())
afterEach(() => expect(({} as Record<string, unknown>)['polluted']).toBeUndefined())

/** The body as JSON text with one more member, because JSON.stringify omits `__proto__`. */
const withMember = (body: object, member: string) => `${JSON.stringify(body).slice(0, -1)},${member}}`
const send = (path: string, text: string) => admin.post(path).set('content-type', 'application/json').send(text)

const members = [
  '"__proto__":{"polluted":true}',
  '"constructor":{"prototype":{"polluted":true}}',
  '"prototype":{"polluted":true}',
  '"toString":"polluted"',
]

it.each(members)('%s is rejected as an unknown property of a body', async (member) => {
  const bodies: [string, object][] = [
    ['/users', userBody()],
    ['/clients', clientBody()],
    ['/users/search', { paging: {} }],
  ]
  for (const [path, body] of bodies) {
    const answer = await send(path, withMember(body, member))
    expect([path, answer.status]).toEqual([path, 400])
    expect(answer.body.errors).toHaveLength(1)
  }
})

it.each(members)('%s is rejected as an unknown property of a nested object', async (member) => {
  const translation = withMember({ locale: 'fr', property: 'NAME', value: 'Ada' }, member)
  const translated = withMember(userBody(), `"translations":[${translation}]`)
  await send('/users', translated).expect(400)
  const { primaryContact: _, ...client } = clientBody()
  await send('/clients', withMember(client, `"primaryContact":${withMember({ name: 'Ada' }, member)}`)).expect(400)
})

it('names of inherited properties are rejected as role, filter, operator, order and query parameter', async () => {
  await admin
    .post('/users')
    .send({ ...userBody(), auths: ['__proto__'] })
    .expect(400)
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
    for (const query of [`filter=${name}:eq:1`, `filter=name:${name}:1`, `order=${name}:asc`, `order=name:${name}`])
      await admin.get(`/users?${query}`).expect(400)
  await admin.get('/users?__proto__[polluted]=1').expect(400)
  await admin.get('/users?constructor.prototype.polluted=1').expect(400)
})
