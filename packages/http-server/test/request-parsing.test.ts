import { describe, expect, it } from '@jest/globals'
import { parseIfMatch } from '../src/index.ts'
import { chooseType, listRequestedLocales } from '../src/content-negotiation.ts'
import { isTooDeep, hasLoneSurrogate, containsNul } from '../src/read-json-body.ts'

describe('the locales of a request', () => {
  it.each([
    [undefined, undefined, []],
    [undefined, 'de', ['de']],
    [undefined, 'en;q=0.5, de-AT, fr;q=0.9', ['de-AT', 'fr', 'en']],
    ['pt', 'de', ['pt', 'de']],
    [undefined, 'de;q=0, *, en;q=x, fr ; q=0.1, <script>', ['fr']],
    [undefined, 'x'.repeat(10_000), []],
    [
      undefined,
      Array.from({ length: 50 }, (_, index) => `a${String.fromCharCode(97 + (index % 26))}`).join(),
      expect.any(Array),
    ],
  ])(
    'are read from ?locale=%s, then from Accept-Language by quality, at most ten (case %#)',
    (wanted, header, expected) => {
      const locales = listRequestedLocales(wanted, header)
      expect(locales).toEqual(expected)
      expect(locales.length).toBeLessThanOrEqual(10)
    },
  )
})

describe('the Accept header', () => {
  it.each([
    undefined,
    '',
    '*/*',
    'application/*',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;version=2',
    'application/json, application/problem+json',
    'text/csv, */*;q=0.1',
    'text/html, image/gif, *; q=.2',
    'application/*;q=0, application/json',
    'application/json;version=2;q=0, */*',
  ])('%j accepts JSON', (header) => {
    expect(() => chooseType(header, ['application/json'])).not.toThrow()
  })

  it.each([
    'text/csv',
    'application/problem+json',
    'text/*',
    'application/json;q=0',
    'application/json; q=0.000, */*',
    'application/*;q=0, */*;q=1',
    'json',
    ',',
    'text/csv,'.repeat(100_000),
  ])('%.40j does not accept JSON', (header) => {
    expect(() => chooseType(header, ['application/json'])).toThrow('The response has the type application/json')
  })
})

describe('the type of a response', () => {
  const types = ['application/json', 'application/x-ndjson', 'text/csv']
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/csv', 'text/csv'],
    ['text/html, */*;q=0.8', 'application/json'],
    ['application/json;q=0.5, text/csv', 'text/csv'],
    ['text/*, application/json;q=0.9', 'text/csv'],
    ['application/*', 'application/json'],
    ['application/json;q=0, application/*', 'application/x-ndjson'],
  ])('for the Accept header %j is %s', (header, expected) => {
    expect(chooseType(header, types)).toBe(expected)
  })

  it('does not depend on the header if the query chooses it', () => {
    expect(() => chooseType('text/html', types)).toThrow('application/json, application/x-ndjson, text/csv')
    expect(chooseType('text/html', types, { isTypeInQuery: true })).toBe('application/json')
  })
})

describe('If-Match', () => {
  it.each([
    [undefined, undefined],
    ['*', undefined],
    [' "7" ', 7],
    ['"0"', 0],
    ['7', Number.NaN],
    ['W/"7"', Number.NaN],
    ['"7", "8"', Number.NaN],
    ['"-1"', Number.NaN],
    ['', Number.NaN],
  ])('%j is parsed as version %s', (header, version) => {
    expect(parseIfMatch(header)).toBe(version)
  })
})

describe('the text of a JSON body', () => {
  const bytes = (text: string) => Buffer.from(text)

  it.each([
    ['['.repeat(32) + ']'.repeat(32), false],
    ['['.repeat(33) + ']'.repeat(33), true],
    ['{"a":'.repeat(33), true],
    ['[],'.repeat(1000), false],
    [JSON.stringify('['.repeat(100)), false],
    [JSON.stringify(`"${'{'.repeat(100)}\\`), false],
    [`"\\\\"${'['.repeat(33)}`, true],
    [']'.repeat(100) + '['.repeat(33), false],
  ])('is too deep if it has more than 32 levels (case %#)', (text, expected) => {
    expect(isTooDeep(bytes(text))).toBe(expected)
  })

  it.each([
    ['{"a":"b"}', false],
    ['{"a":"\0"}', true],
    [String.raw`"\u0000"`, true],
    [String.raw`"\\u0000"`, false],
    [String.raw`"\\\u0000"`, true],
    [String.raw`"\\\\u0000 \u0001"`, false],
    [String.raw`{"\u0000":1}`, true],
  ])('%s contains a NUL character: %s', (text, expected) => {
    expect(containsNul(bytes(text))).toBe(expected)
  })
})

describe('a lone surrogate in JSON text', () => {
  it.each([
    [String.raw`"\ud83d\ude00"`, false],
    ['"😀"', false],
    [String.raw`"\uD83D\uDE00 and \uD83D\uDE00"`, false],
    [String.raw`"\ud83d"`, true],
    [String.raw`"\ude00"`, true],
    [String.raw`"\ud83dx\ude00"`, true],
    [String.raw`"\ud83d\ud83d\ude00"`, true],
    [String.raw`"\ud83d\n"`, true],
    [String.raw`{"\uDE00":1}`, true],
    [String.raw`"\\ud83d"`, false],
    [String.raw`"\\\ud83d"`, true],
    [String.raw`"\u00e9 \\uD"`, false],
  ])('is found in %s: %s', (text, expected) => {
    expect(hasLoneSurrogate(Buffer.from(text))).toBe(expected)
    // JSON.stringify escapes only lone surrogates, so it is a second opinion for texts without escaped backslashes.
    if (!text.includes('\\\\')) expect(/\\ud[89a-f]/.test(JSON.stringify(JSON.parse(text)))).toBe(expected)
  })

  it('is found in a megabyte of escapes in less than five seconds', () => {
    const text = Buffer.from(`"${String.raw`\ud83d\ude00`.repeat(80_000)}${String.raw`\ud83d`}"`)
    const from = performance.now()
    expect(hasLoneSurrogate(text)).toBe(true)
    expect(performance.now() - from).toBeLessThan(5_000)
  })
})
