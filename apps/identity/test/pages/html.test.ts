import { describe, expect, it } from '@jest/globals'
import { toSafeHref, html, isolateName, removeDirectionMarks } from '../../src/pages/html.ts'

describe('html', () => {
  it('escapes values in text and in attributes', () => {
    const hostile = `<script>alert("1")</script> & 'x'`
    expect(html`<p title="${hostile}">${hostile}</p>`.markup).toBe(
      '<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;">' +
        '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;</p>',
    )
  })

  it('escapes text that is already escaped', () => {
    expect(html`${'&lt;b&gt;'}`.markup).toBe('&amp;lt;b&amp;gt;')
  })

  it('does not escape its own markup, and joins lists', () => {
    expect(html`<ul>${['a', '<'].map((text) => html`<li>${text}</li>`)}</ul>`.markup).toBe(
      '<ul><li>a</li><li>&lt;</li></ul>',
    )
  })

  it('renders absent values as nothing, and zero as 0', () => {
    expect(html`[${undefined}${null}${false}${0}]`.markup).toBe('[0]')
  })

  it('rejects objects that only look like markup', () => {
    const forged = JSON.parse('{"markup":"<script>"}')
    expect(() => html`${forged}`).toThrow(TypeError)
    expect(() => html`${[[forged]]}`).toThrow(TypeError)
  })

  it('removes control characters and lone surrogates', () => {
    expect(html`${'a\0b\u0007c\ud800d\te'}`.markup).toBe('a\ufffdb\ufffdc\ufffdd\te')
  })

  it('isolates the text direction of a name', () => {
    expect(html`Hello ${isolateName('\u202eevil')}!`.markup).toBe('Hello <bdi>\u202eevil</bdi>!')
    expect(removeDirectionMarks('a\u202eb\u2066c\u200f')).toBe('abc')
  })
})

describe('an address', () => {
  it.each(['/account/password', '?recovery=1', 'https://app.example/path?x=1', 'http://127.0.0.1:8080/'])(
    'leads to %s',
    (href) => expect(toSafeHref(href)).toBe(href),
  )

  it.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    '//evil.example',
    '/\\evil.example',
    'x',
    '',
  ])('leads nowhere for %j', (href) => expect(toSafeHref(href)).toBe('#'))
})
