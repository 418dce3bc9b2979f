import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { AwsV4Signer } from 'aws4fetch'
import fc from 'fast-check'
import { buildTextToSign } from '../../azure-blob/azure-connector.ts'
import { encodeKey, parseErrorResponse } from '../object-store.ts'
import { prefetchInOrder } from '../many-objects/prefetch-in-order.ts'
import { compileKeyPattern } from '../object-key-pattern.ts'
import { TupleLayout } from '../many-objects/tuple-layout.ts'
import { buildBucketUrl } from '../../s3/s3-connector.ts'
import { signHeaders } from '../../s3/sign-request.ts'
import { createS3Problem } from '../../s3/s3-problems.ts'
import { findCommonType } from '../many-objects/combined-table.ts'
import { parseXml, getChildText } from '../xml.ts'
import { SourceProblem } from '@sluice/row-stream'
import { tuple } from '@sluice/warehouses/testing/tuples'
import { never } from './load-from-store.ts'

describe('an object key pattern', () => {
  it.each([
    ['data/', ['data/a.csv', 'data/b/c.csv'], ['dat/a.csv', 'other/data/a.csv']],
    ['/', ['a', 'b/c'], []],
    ['data/*.csv', ['data/a.csv', 'data/.csv'], ['data/b/a.csv', 'data/a.csv.gz']],
    ['data/**/cases_*.csv', ['data/cases_1.csv', 'data/x/y/cases_.csv'], ['data/xcases_1.csv', 'cases_1.csv']],
    ['**/a', ['a', 'b/a', 'b/c/a'], ['ba']],
    ['a/**', ['a/b', 'a/b/c'], ['ab', 'b/a']],
    ['20[0-2]?.{csv,json}', ['2011.csv', '2029.json'], ['2031.csv', '201/.csv', '2011.xml']],
    ['[!a]b', ['cb', '-b'], ['ab', '/b', 'b']],
    [String.raw`a\*b{,c}`, ['a*b', 'a*bc'], ['axb']],
    ['æ?', ['æø', 'æ😀'], ['æ']],
  ])('%s matches only the expected keys', (pattern, some, others) => {
    const { matches, prefix } = compileKeyPattern(pattern)
    for (const key of some) expect([key, matches(key), key.startsWith(prefix)]).toEqual([key, true, true])
    for (const key of others) expect([key, matches(key)]).toEqual([key, false])
  })

  it('selects a single key if it has no unescaped wildcard', () => {
    expect(compileKeyPattern('/data/a b.csv').singleKey).toBe('data/a b.csv')
    expect(compileKeyPattern(String.raw`a\[1\]\*.csv`).singleKey).toBe('a[1]*.csv')
    expect(compileKeyPattern('a?').singleKey).toBeUndefined()
  })

  it('is matched without exponential time, and rejected above 200 alternatives', () => {
    const { matches } = compileKeyPattern(`${'*a'.repeat(200)}*b`)
    expect(matches('a'.repeat(1000))).toBe(false)
    expect(() => compileKeyPattern('{a,b}'.repeat(40))).toThrow('expand to more than 200 alternatives')
  })

  it.each(['x[a', 'x[]', '[', '{a', 'a{b,c', '}', 'a\\', 'a**'])('%s is rejected as an invalid pattern', (pattern) => {
    expect(() => compileKeyPattern(pattern)).toThrow(/^The key ".*" is not a valid key pattern\. /)
  })

  it('does not match a key above the length limit, and may have at most 10,000 characters', () => {
    const pattern = compileKeyPattern(`{${'b,'.repeat(20)}c}${'*a'.repeat(200)}*z`)
    expect(pattern.matches(`b${'a'.repeat(100_000_000)}`)).toBe(false)
    expect(pattern.matches(`b${'a'.repeat(1_023)}`)).toBe(false)
    expect(pattern.matches(`c${'xa'.repeat(400)}z`)).toBe(true)
    expect(() => compileKeyPattern(`{${'b,'.repeat(190)}c}${'a'.repeat(500)}*`)).toThrow('longer than 10000 characters')
  })

  it('is percent-encoded in a URL, and rejected if it has relative path segments', () => {
    expect(encodeKey("a+b c/%?#'(1)*/ø")).toBe('a%2Bb%20c/%25%3F%23%27%281%29%2A/%C3%B8')
    expect(() => encodeKey('a/../b')).toThrow(SourceProblem)
  })
})

it('buildBucketUrl returns a virtual-hosted or path-style URL by bucket name and endpoint', () => {
  const at = (config: Partial<Parameters<typeof buildBucketUrl>[0]>) =>
    buildBucketUrl({ bucket: 'my-bucket', ...config }, 'eu-west-1').href
  expect(at({})).toBe('https://my-bucket.s3.eu-west-1.amazonaws.com/')
  expect(at({ bucket: 'a.b' })).toBe('https://s3.eu-west-1.amazonaws.com/a.b/')
  expect(at({ endpoint: 'https://store.example.org:9000/s3/' })).toBe('https://store.example.org:9000/s3/my-bucket/')
  expect(at({ endpoint: 'https://store.example.org', pathStyle: false })).toBe('https://my-bucket.store.example.org/')
  expect(buildBucketUrl({ bucket: 'b' }, 'cn-north-1').host).toBe('b.s3.cn-north-1.amazonaws.com.cn')
})

it('buildTextToSign returns the lines in the order that Azure expects', () => {
  const url = new URL('https://a.blob.core.windows.net/c?restype=container&comp=list&prefix=x%20y')
  const headers = {
    'x-ms-version': '2021-12-02',
    'x-ms-date': 'now',
    range: 'bytes=0-9',
    'if-match': '"e"',
  }
  expect(buildTextToSign(url, headers, 'a').split('\n')).toEqual([
    'GET',
    '',
    '',
    '',
    '',
    '',
    '',
    '',
    '"e"',
    '',
    '',
    'bytes=0-9',
    'x-ms-date:now',
    'x-ms-version:2021-12-02',
    '/a/c',
    'comp:list',
    'prefix:x y',
    'restype:container',
  ])
})

describe('a response of an object store', () => {
  it('is parsed if it is XML, and rejected otherwise', () => {
    const page = parseXml('<?xml version="1.0"?><!-- x --><a:R x=">"><K>1 &amp; &#x41;<![CDATA[<]]></K><E/></a:R>', 'h')
    expect([page.name, getChildText(page, 'K'), getChildText(page, 'E'), getChildText(page, 'Z')]).toEqual([
      'R',
      '1 & A<',
      '',
      '',
    ])
    const hostile = [
      '',
      'text',
      '<a>',
      '<a></b>',
      '</a>',
      '<a/><b/>',
      '<!DOCTYPE a [<!ENTITY b "c">]><a/>',
      '<a',
      '<'.repeat(9),
    ]
    for (const text of [...hostile, `<${'a'.repeat(1e6)}`, '<!--'.repeat(1e5), '<a>'.repeat(50)])
      expect(() => parseXml(text, 'h')).toThrow('is not an object store')
  })

  it('is rejected if it has too many XML elements', () => {
    expect(() => parseXml(`<L>${'<a/>'.repeat(300_000)}</L>`, 'h')).toThrow('is not an object store')
  })

  it('is reported without secrets if it is an error, and as transient for status 503', () => {
    const config = { bucket: 'b', accessKey: 'AKIA', secretKey: 'top/secret' }
    const body = '<Error><Code>Odd</Code><Message>no top/secret AKIA\n here</Message></Error>'
    const odd = createS3Problem(parseErrorResponse(400, new Headers(), body, 'h'), { config, host: 'h' })
    expect(odd.message).toBe('h returned the status 400 for bucket "b". It says: Odd: no … … here')
    const busy = createS3Problem(parseErrorResponse(503, new Headers({ 'retry-after': '2' }), '', 'h'), {
      config,
      host: 'h',
      key: 'k',
    })
    expect(busy).toMatchObject({ name: 'TransientError', retryAfter: 2, error: { code: 'SOURCE_FAILED' } })
  })
})

it('findCommonType returns a type that can store the values of both types', () => {
  const decimal = (precision: number, scale: number) => ({ dataType: 'DECIMAL' as const, precision, scale })
  expect(findCommonType({ dataType: 'SMALLINT' }, { dataType: 'BIGINT' })).toEqual({ dataType: 'BIGINT' })
  expect(findCommonType({ dataType: 'INTEGER' }, decimal(5, 2))).toEqual(decimal(12, 2))
  expect(findCommonType({ dataType: 'INTEGER' }, { dataType: 'DOUBLE' })).toEqual({ dataType: 'DOUBLE' })
  expect(findCommonType({ dataType: 'BIGINT' }, { dataType: 'DOUBLE' })).toEqual({ dataType: 'DECIMAL' })
  expect(findCommonType(decimal(38, 0), decimal(38, 10))).toEqual({ dataType: 'DECIMAL' })
  expect(findCommonType({ dataType: 'DATE' }, { dataType: 'TIMESTAMPTZ' })).toEqual({ dataType: 'TIMESTAMPTZ' })
  expect(findCommonType({ dataType: 'DATE' }, { dataType: 'INTEGER' })).toEqual({ dataType: 'TEXT' })
})

it('TupleLayout rearranges the columns of rows, and reuses released memory', () => {
  const bytes = Buffer.concat([tuple([1, 'a', null]), tuple([2, 'x'.repeat(300_000), 'c'])])
  const layout = new TupleLayout([2, null, 0, 1, Buffer.from('key'), 'ROW_NUMBER'], 3)
  const number = (row: number) => Buffer.from([0, 0, 0, 0, 0, 0, 0, row]).toString('latin1')
  const wanted = Buffer.concat([
    tuple([null, null, 1, 'a', 'key', number(1)]),
    tuple(['c', null, 2, 'x'.repeat(300_000), 'key', number(2)]),
  ])
  let released = 0
  const first = layout.rearrange({ bytes, release: () => void (released += 1) })
  expect([Buffer.compare(first.bytes, wanted), released]).toEqual([0, 1])
  const second = layout.rearrange({ bytes: tuple([3, 'b', null]) })
  expect(second.bytes.buffer).not.toBe(first.bytes.buffer)
  first.release?.()
  expect(layout.rearrange({ bytes: tuple([4, 'b', null]) }).bytes.buffer).toBe(first.bytes.buffer)
})

describe('prefetchInOrder', () => {
  /** Reads items up to the index `last`. Returns the indexes made before each of them, and the indexes disposed of. */
  async function prefetch(weights: number[], maxAhead: { items: number; weight: number }, last: number) {
    const made: number[] = []
    const disposed: number[] = []
    const make = async (index: number) => {
      made.push(index)
      return { index, [Symbol.dispose]: () => void disposed.push(index) }
    }
    const yielded: { index: number; made: number[] }[] = []
    for await (const { index } of prefetchInOrder({ weights, maxAhead, load: make }, never)) {
      yielded.push({ index, made: [...made] })
      if (index === last) break
    }
    return { yielded, disposed }
  }

  it('keeps the weight limit and the order, and disposes only of items that it did not yield', async () => {
    expect(await prefetch([1, 1, 9, 1, 1], { items: 3, weight: 5 }, 3)).toEqual({
      yielded: [
        { index: 0, made: [0, 1] },
        { index: 1, made: [0, 1] },
        { index: 2, made: [0, 1, 2] },
        { index: 3, made: [0, 1, 2, 3, 4] },
      ],
      disposed: [4],
    })
  })

  it('keeps the limit of items', async () => {
    expect(await prefetch([1, 1, 1, 1, 1], { items: 3, weight: 100 }, 1)).toEqual({
      yielded: [
        { index: 0, made: [0, 1, 2] },
        { index: 1, made: [0, 1, 2, 3] },
      ],
      disposed: [2, 3],
    })
  })
})

describe('a request to S3', () => {
  it.each(['AKIA€', 'AKIA 0', 'AKIA\n0'])('is rejected before signing if the access key is %j', (accessKey) => {
    const config = { bucket: 'b', accessKey, secretKey: 'any €' }
    const sign = () => signHeaders(new URL('https://s3.example.org/b'), {}, config, 'eu-west-1')
    expect(sign).toThrow(expect.objectContaining({ code: 'AUTHENTICATION_FAILED' }))
  })
})

it('signHeaders signs like aws4fetch', async () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'Z', '9', '-', '.', '_', '~', '!', "'", '(', '*', '+', ' ', '/', '%', 'é', '😀'),
  })
  const query = fc.dictionary(fc.stringMatching(/^[a-z-]{1,8}$/), text, { maxKeys: 3 })
  // A part of a key may not be "." or "..".
  const key = text.map((some) => `k${some.replaceAll('/', '/k')}`)
  const law = async (objectKey: string, parameters: Record<string, string>, secretKey: string, region: string) => {
    const url = new URL('https://store.example.org/bucket/')
    url.pathname += encodeKey(objectKey)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    url.search = url.search.replaceAll('+', '%20')
    const config = { bucket: 'bucket', accessKey: 'AKIAIOSFODNN7EXAMPLE', secretKey }
    const headers = signHeaders(url, { range: 'bytes=0-9', 'if-match': '"e"' }, config, region)
    const { headers: expected } = await new AwsV4Signer({
      url: url.href,
      headers: { range: 'bytes=0-9', 'if-match': '"e"', 'x-amz-content-sha256': headers['x-amz-content-sha256']! },
      accessKeyId: config.accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region,
      datetime: headers['x-amz-date']!,
    }).sign()
    expect(headers).toEqual(Object.fromEntries(expected))
  }
  const secretKey = fc.string({ minLength: 1, maxLength: 40 })
  const region = fc.constantFrom('eu-west-1', 'us-east-1')
  await fc.assert(fc.asyncProperty(key, query, secretKey, region, law), {
    numRuns: drawCount({ short: 100, long: 2_000 }),
  })
})
