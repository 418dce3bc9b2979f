import { describe, expect, it } from '@jest/globals'
import { versionOf } from '../src/index.ts'
import { tooDeep } from '../src/depth.ts'
import { localesOf } from '../src/locales.ts'
import { holdsNul } from '../src/nul.ts'
import { unstorableText } from '../src/unstorable-text.ts'

describe('locales', () => {
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
  ])('of ?locale=%s and a header are what they should be', (wanted, header, expected) => {
    const locales = localesOf(wanted, header)
    expect(locales).toEqual(expected)
    expect(locales.length).toBeLessThanOrEqual(10)
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
  ])('%j names version %s', (header, version) => {
    expect(versionOf(header)).toBe(version)
  })
})

describe('JSON', () => {
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
  ])('case %#: is it too deep', (text, expected) => {
    expect(tooDeep(bytes(text))).toBe(expected)
  })

  it.each([
    ['{"a":"b"}', false],
    ['{"a":"\0"}', true],
    [String.raw`"\u0000"`, true],
    [String.raw`"\\u0000"`, false],
    [String.raw`"\\\u0000"`, true],
    [String.raw`"\\\\u0000 \u0001"`, false],
    [String.raw`{"\u0000":1}`, true],
  ])('%s holds a NUL character: %s', (text, expected) => {
    expect(holdsNul(bytes(text))).toBe(expected)
  })
})

describe('text that cannot be stored', () => {
  it('is named by where it is, in values and in names', () => {
    const half = '\ud83d'
    expect(unstorableText({ a: ['fine 😀', `${half}x`], 'b/c': { d: 'x\0' }, [half]: 1 })).toEqual([
      { pointer: '/a/1', detail: 'must be well-formed Unicode' },
      { pointer: '/b~1c/d', detail: 'must not contain the NUL character' },
      { pointer: '/', detail: 'must be well-formed Unicode' },
    ])
    expect(unstorableText(half)).toEqual([{ pointer: '/', detail: 'must be well-formed Unicode' }])
    for (const fine of [null, undefined, 7, true, '', [], {}]) expect(unstorableText(fine)).toEqual([])
  })

  it('is named a hundred times at most', () => {
    expect(unstorableText(Array.from({ length: 5_000 }, () => '\0'))).toHaveLength(100)
  })
})
