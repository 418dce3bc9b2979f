import { describe, expect, it } from '@jest/globals'
import { createLogger, Redaction, requestScope, scopeHeaders } from '../src/index.ts'

const redacted = (secrets: string[], line: string) => {
  const redaction = new Redaction()
  redaction.add(...secrets)
  return redaction.apply(line)
}

describe('redaction', () => {
  it('hides every occurrence of a secret, also escaped, URL-encoded or in hex', () => {
    const secret = 'p"a/ss\\wörd?'
    const hex = Buffer.from(secret).toString('hex')
    for (const spelling of [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      hex,
      hex.toUpperCase(),
    ])
      expect(redacted([secret], `before ${spelling} after ${spelling}`)).toBe('before [redacted] after [redacted]')
  })

  it('hides the longest of overlapping secrets, and the password inside a URL', () => {
    expect(redacted(['secret', 'secret-and-more'], 'x secret-and-more y')).toBe('x [redacted] y')
    const url = 'postgres://me:p%40ssword@db:5432/x'
    expect(redacted([url], 'password is p@ssword or p%40ssword')).toBe('password is [redacted] or [redacted]')
    expect(redacted([url], url)).toBe('[redacted]')
  })

  it('ignores short secrets, which would match most lines', () => {
    expect(redacted(['abc', ''], 'abc abcabc')).toBe('abc abcabc')
  })

  it.each([
    ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'],
    [`slr_${'x'.repeat(43)}`],
    [`sll_${'x'.repeat(43)}`],
    [`sluice_${'x'.repeat(50)}`],
    ['$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA'],
  ])('hides %s, which it recognises by its format', (secret) => {
    expect(redacted([], `a ${secret} b`)).toBe('a [redacted] b')
  })

  it('hides unknown values in bearer headers and in passwords of URLs', () => {
    expect(redacted([], '"authorization":"Bearer abc.def-ghi_123"')).toBe('"authorization":"Bearer [redacted]"')
    expect(redacted([], 'connect postgresql://me:hunter22@db/x')).toBe('connect postgresql://me:[redacted]@db/x')
  })

  it('takes less than 3 seconds for long lines of incomplete secrets', () => {
    const started = performance.now()
    for (const incomplete of ['-eyJaaaaa', 'eyJaaaaaa.', 'postgres://a:', '$argon2', 'slr_', 'Bearer '])
      redacted(['s3cret-value'], incomplete.repeat(5_000))
    expect(performance.now() - started).toBeLessThan(3_000)
  })
})

describe('a logger', () => {
  const logged = (work: (logger: ReturnType<typeof createLogger>) => void) => {
    const lines: string[] = []
    const redaction = new Redaction()
    redaction.add('correct-horse')
    work(
      createLogger({ name: 'test', level: 'info', redaction, destination: { write: (line) => void lines.push(line) } }),
    )
    return lines.map((line) => JSON.parse(line))
  }

  it('writes one JSON line per call, without secrets in messages, errors and nested values', () => {
    const error = new Error('no entry with correct-horse', { cause: new Error('Bearer abcdefghijkl') })
    const lines = logged((logger) => logger.error({ err: error, deep: [{ x: 'correct-horse' }] }, 'correct-horse'))
    expect(lines).toMatchObject([{ level: 'error', name: 'test', msg: '[redacted]', deep: [{ x: '[redacted]' }] }])
    expect(lines[0].time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
    expect(JSON.stringify(lines)).not.toMatch(/correct-horse|abcdefghijkl/)
  })

  it('adds the id of the current request, which scopeHeaders passes on', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const lines = logged((logger) =>
      requestScope.run({ requestId: 'r-1', traceparent }, () => {
        logger.info('inside')
        expect(scopeHeaders()).toEqual({ 'X-Request-Id': 'r-1', traceparent })
      }),
    )
    expect(lines).toMatchObject([{ requestId: 'r-1' }])
    expect(scopeHeaders()).toEqual({})
  })
})
