import { describe, expect, it } from '@jest/globals'
import { credentials, type Instead } from './dhis2-stand-in.ts'
import { firstAnswer, standInForEach } from './dhis2-stand-in-per-test.ts'
import { fine, pushed } from './push-fixtures.ts'

const { start } = standInForEach()

describe('request that DHIS2 does not accept', () => {
  it.each<[string, Instead, object]>([
    ['bad credentials', { status: 401, body: { message: 'Bad credentials' } }, { code: 'AUTHENTICATION_FAILED' }],
    ['a missing right', { status: 403, body: { message: 'Access is denied' } }, { code: 'PERMISSION_DENIED' }],
    ['a wrong path', { status: 404, body: 'not here' }, { code: 'NOT_FOUND' }],
    ['an invalid request', { status: 400, body: { message: 'Bad request' } }, { code: 'TARGET_REFUSED' }],
    [
      'a conflict without a summary',
      { status: 409, body: { status: 'ERROR', message: 'User has no write access', errorCode: 'E2014' } },
      { code: 'TARGET_REFUSED', message: 'DHIS2 rejected the import. Its message: E2014: User has no write access' },
    ],
    [
      'a summary with only an error',
      {
        status: 409,
        body: {
          status: 'ERROR',
          message: 'The import failed',
          response: {
            responseType: 'ImportSummary',
            status: 'ERROR',
            importCount: { imported: 0, updated: 0, ignored: 0, deleted: 0 },
            conflicts: [{ object: 'dataSet', value: 'Data set is closed' }],
          },
        },
      },
      {
        code: 'TARGET_REFUSED',
        message: 'DHIS2 rejected the import. Its message: The import failed Data set is closed',
      },
    ],
    ['a page of another system', { status: 200, body: '<html>hello</html>' }, { code: 'OTHER_PROTOCOL' }],
    ['a login page', { status: 302, headers: { location: '/login' }, body: '' }, { code: 'REDIRECTED' }],
    ['JSON of another system', { status: 200, body: { hello: 1 } }, { code: 'TARGET_REFUSED' }],
  ])('ends the push without a retry: %s', async (_name, answer, problem) => {
    const dhis2 = await start(firstAnswer(answer))
    await expect(pushed(dhis2, { rows: fine(3) })).rejects.toMatchObject({ ...problem, retryable: false })
    expect(dhis2.imports()).toHaveLength(1)
  })

  it('is reported with password and token redacted, even if DHIS2 repeats them', async () => {
    const said = `no ${credentials.password} ${Buffer.from(`importer:${credentials.password}`).toString('base64')}`
    const dhis2 = await start(firstAnswer({ status: 403, body: { message: said } }))
    await expect(pushed(dhis2, { rows: fine(1) })).rejects.toMatchObject({
      message: expect.stringMatching(/It says: no \[redacted\] \[redacted\]$/),
    })
  })

  it.each<[string, Instead]>([
    ['429', { status: 429, headers: { 'retry-after': '1' }, body: '' }],
    ['503', { status: 503, body: 'starting' }],
    ['a broken connection', { broken: true }],
  ])('is sent again after a delay: %s', async (_name, answer) => {
    const dhis2 = await start(firstAnswer(answer))
    const { result, log } = await pushed(dhis2, { rows: fine(3) })
    expect(result).toMatchObject({ sent: 3, imported: 3 })
    expect(log.join()).toMatch(/next attempt in [12] seconds/)
  })

  it('is delayed as long as Retry-After requires, and fails if that is one hour', async () => {
    const dhis2 = await start(firstAnswer({ status: 429, headers: { 'retry-after': '3' }, body: '' }))
    const began = Date.now()
    await pushed(dhis2, { rows: fine(1) })
    expect(Date.now() - began).toBeGreaterThanOrEqual(3_000)
    dhis2.state.instead = () => ({ status: 429, headers: { 'retry-after': '3600' }, body: '' })
    await expect(pushed(dhis2, { rows: fine(1) })).rejects.toMatchObject({ code: 'TARGET_BUSY', retryable: true })
  })

  it.each<[string, Instead]>([
    ['413', { status: 413, body: 'Request Entity Too Large' }],
    ['504', { status: 504, body: 'Gateway Time-out' }],
    ['no response in time', { silent: true }],
  ])('is halved until DHIS2 accepts its size: %s', async (_name, answer) => {
    const dhis2 = await start({
      instead: ({ path, body }) =>
        path.endsWith('dataValueSets') && JSON.parse(body).dataValues.length > 3_000 ? answer : undefined,
    })
    const { result, log } = await pushed(dhis2, { rows: fine(12_000), importTimeoutMs: 500 })
    expect([result.sent, result.imported + result.updated, dhis2.stored.size]).toEqual([12_000, 12_000, 12_000])
    expect(dhis2.imports().map(({ body }) => JSON.parse(body).dataValues.length)).toEqual([
      10_000, 5_000, 2_500, 2_500, 2_500, 2_500, 2_000,
    ])
    expect(log.join()).toContain('2500 values instead of 5000')
  })

  it('is sent again without duplicates if DHIS2 stored it and the response was lost', async () => {
    const dhis2 = await start(firstAnswer({ status: 504, body: '', taken: true }))
    const { result } = await pushed(dhis2, { rows: fine(300) })
    expect([result.sent, dhis2.stored.size]).toEqual([300, 300])
  })

  it('stops when the signal aborts, also during a retry delay', async () => {
    for (const answer of [{ silent: true }, { status: 429, headers: { 'retry-after': '500' }, body: '' }]) {
      const dhis2 = await start({ instead: ({ method }) => (method === 'POST' ? answer : undefined) })
      const stopping = new AbortController()
      const push = pushed(dhis2, { rows: fine(1), importTimeoutMs: 60_000, signal: stopping.signal })
      setTimeout(() => stopping.abort(new Error('cancelled')), 500)
      const began = Date.now()
      await expect(push).rejects.toThrow('cancelled')
      expect(Date.now() - began).toBeLessThan(30_000)
      await dhis2.stop()
    }
  })
})
