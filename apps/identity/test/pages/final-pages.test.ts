import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../src/config.ts'
import { readPageTexts } from '../../src/pages/choose-language.ts'
import { startService } from '../app-under-test.ts'

const finalPages = ['/account/invitation-accepted', '/account/joined', '/account/password-changed']

describe('the final page of an invitation or a password reset', () => {
  it('links to HOME_URL', async () => {
    const service = await startService({ HOME_URL: 'https://data.example.org/start' })
    for (const path of finalPages) {
      const { text } = await service.http.get(path).expect(200)
      expect(text).toContain('href="https://data.example.org/start">Sign in at data.example.org</a>')
      expect(text).not.toContain('Ask the person who invited you')
    }
    expect((await service.http.get('/account/forgot-password-sent').expect(200)).text).not.toContain('Sign in at')
    await service.stop()
  })

  it('says who knows the sign-in address if HOME_URL is not set', async () => {
    const service = await startService()
    for (const [language, words] of [
      ['en', 'Ask the person who invited you'],
      ['de', 'Fragen Sie die Person, die Sie eingeladen hat'],
      ['fr', 'la personne qui vous a envoyé l’invitation'],
    ] as const)
      for (const path of finalPages)
        expect((await service.http.get(path).set('accept-language', language).expect(200)).text).toContain(words)
    await service.stop()
  })
})

it('HOME_URL must be an http or https URL', () => {
  const environment = {
    IDENTITY_DATABASE_URL: 'postgres://x',
    SECRET_KEYS: `k:${Buffer.alloc(32, 7).toString('base64')}`,
  }
  const withHome = (HOME_URL: string) => readConfig({ ...environment, SERVICE_SECRET: 'x'.repeat(40), HOME_URL })
  expect(withHome('').HOME_URL).toBe('')
  expect(withHome('https://data.example.org/').HOME_URL).toBe('https://data.example.org')
  for (const wrong of ['javascript:alert(1)', 'data.example.org', 'ftp://data.example.org'])
    expect(() => withHome(wrong)).toThrow(/HOME_URL/)
})

it.each(['en', 'de', 'fr'])('the consent page says in %s how to revoke the access', (language) => {
  expect(readPageTexts(language).consent.trust).toContain('/users/me/applications')
})
