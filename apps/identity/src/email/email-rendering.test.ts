import { describe, expect, it } from '@jest/globals'
import { safeDisplayName } from './texts.ts'
import { isMailable, mailableAddress, renderEmail, senderAddress, smtpUrl } from '@sluice/mail'

describe('a letter', () => {
  it('shows as text whatever looks like markup, and leads where it says', () => {
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

describe('a name', () => {
  it.each(['Ada', '  Ada   Lovelace ', 'A. B. Carter', 'ada@example.org', 'Ångström & Söhne'])(
    '%s may be mentioned',
    (name) => {
      expect(safeDisplayName(name)).toBe(name.trim().replace(/ +/g, ' '))
    },
  )
  it.each(['evil.example', 'a/b', 'a:b', 'x'.repeat(81), '', '<b>', 'two\nlines', 'a@b/c', 'javascript:x'])(
    '%j may not',
    (name) => {
      expect(safeDisplayName(name)).toBeUndefined()
    },
  )
})

describe('the settings of mail', () => {
  const server = (text: string) => smtpUrl().parse(text)
  it('name a server, with the usual ports, and a password as it is', () => {
    expect(server('smtp://mail')).toEqual({
      host: 'mail',
      port: 587,
      secure: false,
      user: undefined,
      password: undefined,
    })
    expect(server('smtps://u%40x:p%2Fw%25@mail.example.org')).toMatchObject({
      port: 465,
      secure: true,
      user: 'u@x',
      password: 'p/w%',
    })
    expect(server('smtp://[::1]:2525')).toMatchObject({ host: '::1', port: 2525 })
  })

  it.each([
    'http://mail',
    'mail:25',
    'smtp://',
    'smtp://u@mail',
    'smtp://mail/path',
    'smtp://mail?tls=no',
    'smtp://u:%zz@mail',
  ])('%s is none', (text) => {
    expect(() => server(text)).toThrow(/must|written/)
  })

  it('name a sender', () => {
    const from = (text: string) => senderAddress().parse(text)
    expect(from('no-reply@example.org')).toEqual({ name: '', address: 'no-reply@example.org' })
    expect(from('Example Data <no-reply@example.org>')).toEqual({
      name: 'Example Data',
      address: 'no-reply@example.org',
    })
    for (const wrong of ['nobody', 'a@b, c@d', 'A <a@b> <c@d>', '"A" <a@b c>', 'A\r\nBcc: x <a@b>'])
      expect(() => from(wrong)).toThrow('must be an address')
  })

  it('know an address that mail can be sent to', () => {
    for (const fine of ['a@example.org', "o'brien+x@mail.example.org"])
      expect([fine, isMailable(fine)]).toEqual([fine, true])
    for (const not of [
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
      expect([not, isMailable(not)]).toEqual([not, false])
  })

  it('turn an international domain into ASCII', () => {
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
