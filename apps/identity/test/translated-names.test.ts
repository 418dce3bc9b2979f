import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { clientBody, startService, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const names = { de: 'Wetterdienst', fr: 'Service météo' }
const translations = Object.entries(names).map(([locale, value]) => ({ locale, property: 'name', value }))
const translated = async () => (await admin.post('/clients').send(clientBody({ translations })).expect(201)).body

describe('a translated name', () => {
  it.each([
    ['de', names.de],
    ['de-CH', names.de],
    ['it, fr;q=0.8, de;q=0.5', names.fr],
    ['it', undefined],
  ])('is the display name of an organisation for readers of %s', async (wanted, expected) => {
    const { id, name } = await translated()
    const one = await admin.get(`/clients/${id}`).set('accept-language', wanted).expect(200)
    expect(one.body).toMatchObject({ displayName: expected ?? name, name, translations })
    expect(one.headers['vary']).toContain('Accept-Language')
    expect(one.headers['content-language']).toBe(Object.entries(names).find(([, value]) => value === expected)?.[0])
    const [listed] = (await admin.get(`/clients?filter=id:eq:${id}`).set('accept-language', wanted).expect(200)).body
    expect(listed.displayName).toBe(expected ?? name)
  })

  it('follows the locale parameter of a list before Accept-Language', async () => {
    const { id } = await translated()
    const listed = await admin.get(`/clients?filter=id:eq:${id}&locale=fr`).set('accept-language', 'de').expect(200)
    expect(listed.body[0].displayName).toBe(names.fr)
  })

  it('is the same in the session and in the organisation', async () => {
    const { id, name } = await translated()
    const user = await service.as([], id)
    const inLanguage = async (wanted: string) =>
      (await user.get('/session').set('accept-language', wanted).expect(200)).body.activeUser
    const german = await inLanguage('de')
    expect(german.client.displayName).toBe(names.de)
    expect((await inLanguage('fr-FR')).client.displayName).toBe(names.fr)
    expect((await inLanguage('it')).client.displayName).toBe(name)
  })
})
