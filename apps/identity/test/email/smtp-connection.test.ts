import { describe, expect, it } from '@jest/globals'
import { smtpRefusal, selfSigned } from '@sluice/testing/smtp'
import { localServer, startMailService } from './mail-service-setup.ts'

const { startServer, sendMails, invite, mails, makeMailsDue } = startMailService()

describe('the SMTP connection', () => {
  const certificate = selfSigned()

  it('uses STARTTLS if the server offers it, and verifies the certificate', async () => {
    const { received, port } = await startServer(certificate)
    await invite()
    await sendMails(port)
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringContaining('certificate') }])
    await makeMailsDue()
    await sendMails(port, { ca: certificate.cert })
    expect(received).toMatchObject([{ secure: true }])
  })

  it('uses TLS from the start with smtps', async () => {
    const { received, port } = await startServer({ ...certificate, secure: true })
    await invite()
    await sendMails(port, { server: localServer(port, { secure: true }), ca: certificate.cert })
    expect(received).toMatchObject([{ secure: true }])
  })

  it('sends credentials only over an encrypted or local connection', async () => {
    const passwords: unknown[] = []
    const { received, port } = await startServer({
      allowInsecureAuth: true,
      onAuth(auth, _session, done) {
        passwords.push(auth.password)
        if (auth.password === 'right') done(null, { user: auth.username })
        else done(smtpRefusal(535, 'wrong password'))
      },
    })
    const as = (password: string, host = '127.0.0.1') => ({ server: localServer(port, { host, user: 'us', password }) })
    await invite()
    // This address also leads to this machine, but does not count as local.
    await sendMails(port, as('right', '0.0.0.0'))
    expect(passwords).toEqual([])
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringContaining('STARTTLS') }])
    await makeMailsDue()
    await sendMails(port, as('wrong'))
    expect(await mails()).toMatchObject([{ state: 'QUEUED', reason: expect.stringContaining('wrong password') }])
    await makeMailsDue()
    await sendMails(port, as('right'))
    expect(received).toMatchObject([{ user: 'us' }])
  })
})
