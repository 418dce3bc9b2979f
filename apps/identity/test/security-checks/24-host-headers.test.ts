import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { answerPasswordReset } from '../../src/sign-in/password/password-reset-requests.ts'
import { startService, userBody, type Service } from '../app-under-test.ts'

const publicUrl = 'https://id.example.org/data'
let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService({ IDENTITY_PUBLIC_URL: publicUrl })
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

/** Headers that any caller can set. The service must ignore them. */
const forged = {
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'http',
  'x-forwarded-port': '8443',
  'x-forwarded-prefix': '/evil',
  'x-original-host': 'evil.example',
  'x-host': 'evil.example',
  forwarded: 'host=evil.example;proto=http',
  origin: 'https://evil.example',
  referer: 'https://evil.example/',
}

describe('an invitation or password reset link', () => {
  it('uses the configured public URL if the request has forged forwarding headers', async () => {
    const { body } = await admin.post('/users/invite').set(forged).send(userBody()).expect(201)
    expect(body.invitationLink).toMatch(/^https:\/\/id\.example\.org\/data\/account\/invitation\?token=/)
    const again = await admin.post(`/users/${body.id}/invite`).set(forged).expect(200)
    expect(again.body.invitationLink).toMatch(/^https:\/\/id\.example\.org\/data\/account\/invitation\?token=/)

    const { uid, username } = await service.user({ client: admin.client })
    await service.http.post('/api/v1/auth/forgot-password').set(forged).send({ username }).expect(204)
    await answerPasswordReset(service.db, service.config)
    const { body: mails } = await admin.get(`/mails?filter=user.id:eq:${uid}`).expect(200)
    const { body: mail } = await admin.get(`/mails/${mails[0].id}`).expect(200)
    expect(mail.text).toMatch(/^https:\/\/id\.example\.org\/data\/account\/password\?token=/m)
    expect(mail.text).not.toContain('evil')
  })

  it('is not created if the Host header names another host', async () => {
    const requests = [
      admin.post('/users/invite').set('host', 'evil.example').send(userBody()),
      service.http.post('/api/v1/auth/forgot-password').set('host', 'evil.example').send({ username: admin.username }),
      service.http
        .post('/api/v1/auth/forgot-password')
        .set('host', 'id.example.org@evil.example')
        .send({ username: 'x' }),
      service.http.get('/.well-known/openid-configuration').set('host', 'evil.example'),
    ]
    for (const request of requests) expect([400, 421]).toContain((await request).status)
    expect(await answerPasswordReset(service.db, service.config)).toBe(false)
  })
})

it('discovery uses the configured public URL if the request has forged forwarding headers', async () => {
  const { body } = await service.http.get('/.well-known/openid-configuration').set(forged).expect(200)
  expect(body.issuer).toBe(publicUrl)
  for (const [name, value] of Object.entries(body))
    if (typeof value === 'string' && /^https?:/.test(value))
      expect([name, value]).toEqual([name, expect.stringContaining(publicUrl)])
  expect(JSON.stringify(body)).not.toContain('evil')
})

describe('the network address that attempts are counted for', () => {
  const forgot = (by: Service, from: string, at: number) =>
    by.http
      .post('/api/v1/auth/forgot-password')
      .set('x-forwarded-for', from)
      .send({ username: `nobody-${from}-${at}` })
  const admitted = async (by: Service, from: (at: number) => string) =>
    (await Promise.all(Array.from({ length: 40 }, (_, index) => forgot(by, from(index), index)))).filter(
      ({ status }) => status === 204,
    ).length

  it('is the address of the peer if no proxy is trusted', async () => {
    const direct = await startService({ TRUSTED_PROXIES: 0 })
    try {
      expect(await admitted(direct, (at) => `198.51.${at}.1`)).toBe(30)
    } finally {
      await direct.stop()
    }
  })

  it('is the last X-Forwarded-For address if one proxy is trusted', async () => {
    expect(await admitted(service, (at) => `198.51.${at}.1, 203.0.113.9`)).toBe(30)
    expect(await admitted(service, (at) => `198.51.${at}.1`)).toBe(40)
  })
})
