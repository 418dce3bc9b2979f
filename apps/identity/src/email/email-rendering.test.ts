import { describe, expect, it } from '@jest/globals'
import { toSafeDisplayName } from './texts.ts'
import { isMailable, mailableAddress, renderEmail, senderAddress, smtpUrl } from '@sluice/mail'

describe('renderEmail', () => {
  it('escapes markup in paragraphs, labels and URLs', () => {
    const { html, text } = renderEmail({
      subject: '',
      paragraphs: ['<b>"Ada" & \'co\'</b>'],
      link: { label: 'Open <this>', url: 'https://id.example.org/?a=1&b="2"' },
      notes: [],
    })
    expect(html).toContain('<p>&lt;b&gt;&quot;Ada&quot; &amp; &#39;co&#39;&lt;/b&gt;</p>')
    expect(html).toContain('href="https://id.example.org/?a=1&amp;b=&quot;2&quot;"')
    expect(html).toContain('Open &lt;this&gt;')
    expect(text).toBe('<b>"Ada" & \'co\'</b>\n\nhttps://id.example.org/?a=1&b="2"\n')
  })
})

describe('toSafeDisplayName', () => {
  it.each(['Ada', '  Ada   Lovelace ', 'A. B. Carter', 'ada@example.org', 'Ångström & Söhne'])('accepts %j', (name) => {
    expect(toSafeDisplayName(name)).toBe(name.trim().replace(/ +/g, ' '))
  })
  it.each(['evil.example', 'a/b', 'a:b', 'x'.repeat(81), '', '<b>', 'two\nlines', 'a@b/c', 'javascript:x'])(
    'rejects %j',
    (name) => {
      expect(toSafeDisplayName(name)).toBeUndefined()
    },
  )
})

describe('the mail settings', () => {
  const parseSmtpUrl = (text: string) => smtpUrl().parse(text)
  it('accept an SMTP URL, with default ports and a decoded password', () => {
    expect(parseSmtpUrl('smtp://mail')).toEqual({
      host: 'mail',
      port: 587,
      secure: false,
      user: undefined,
      password: undefined,
    })
    expect(parseSmtpUrl('smtps://u%40x:p%2Fw%25@mail.example.org')).toMatchObject({
      port: 465,
      secure: true,
      user: 'u@x',
      password: 'p/w%',
    })
    expect(parseSmtpUrl('smtp://[::1]:2525')).toMatchObject({ host: '::1', port: 2525 })
  })

  it.each([
    'http://mail',
    'mail:25',
    'smtp://',
    'smtp://u@mail',
    'smtp://mail/path',
    'smtp://mail?tls=no',
    'smtp://u:%zz@mail',
  ])('reject the SMTP URL %s', (text) => {
    expect(() => parseSmtpUrl(text)).toThrow(/must|written/)
  })

  it('accept one sender address, with or without a name', () => {
    const parseSender = (text: string) => senderAddress().parse(text)
    expect(parseSender('no-reply@example.org')).toEqual({ name: '', address: 'no-reply@example.org' })
    expect(parseSender('Example Data <no-reply@example.org>')).toEqual({
      name: 'Example Data',
      address: 'no-reply@example.org',
    })
    for (const wrong of ['nobody', 'a@b, c@d', 'A <a@b> <c@d>', '"A" <a@b c>', 'A\r\nBcc: x <a@b>'])
      expect(() => parseSender(wrong)).toThrow('must be an address')
  })
})

describe('a recipient address', () => {
  it('is mailable if it is a single plain address', () => {
    for (const valid of ['a@example.org', "o'brien+x@mail.example.org"])
      expect([valid, isMailable(valid)]).toEqual([valid, true])
    for (const invalid of [
      'a',
      'a@',
      '@b',
      'a@b@c',
      '"a b"@c',
      'a@b,c@d',
      'a@b\r\n',
      'a b@c',
      '<a@b>',
      'a@[1.2.3.4]',
      `${'a'.repeat(65)}@b`,
    ])
      expect([invalid, isMailable(invalid)]).toEqual([invalid, false])
  })

  it('is converted to an ASCII domain, and rejected if it has no ASCII form', () => {
    for (const [written, sent] of [
      ['a@Example.org', 'a@Example.org'],
      ['a@127.1', 'a@127.1'],
      ['a@müller.example', 'a@xn--mller-kva.example'],
      ['a@हिन्दी.भारत', 'a@xn--j2bd4cyah0f.xn--h2brj9c'],
      ['jürgen@example.org', undefined],
      ['a@müller.example/x', undefined],
      ['a@müller.example\r\n', undefined],
      ['a@xn--ü.example', undefined],
      ['müller.example', undefined],
    ] as const)
      expect([written, mailableAddress(written)]).toEqual([written, sent])
  })
})
