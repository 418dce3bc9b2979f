import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testConnector } from '../../../test/conformance.ts'
import { invoked, lambdaFunction } from './function-stand-in.ts'
import { openFixture, type FixtureHarness } from '../../../test/connector-harness.ts'
import type { StandInResponse } from '../../../test/stand-in-server.ts'

testConnector(lambdaFunction)

describe('an AWS Lambda function', () => {
  const scratch = scratchWarehouseForAll()
  let standIn: Awaited<ReturnType<typeof invoked>>
  let open: FixtureHarness
  beforeAll(async () => {
    standIn = await invoked()
    open = await openFixture({ ...lambdaFunction, start: async () => standIn }, scratch.warehouse)
  })
  beforeEach(() => {
    delete standIn.say.answer
  })
  afterAll(() => open?.[Symbol.asyncDispose]())

  const says = (...answers: StandInResponse[]) => {
    standIn.say.answer = () => (answers.length > 1 ? answers.shift()! : answers[0]!)
  }
  const rows = async () =>
    (await scratch.superuser.query(`select * from health.${open.table} order by name`)).rows as unknown[]

  it.each<[string, unknown]>([
    ['a list', [{ name: 'Ann' }, { name: 'Ben' }]],
    ['rows', { rows: [{ name: 'Ann' }, { name: 'Ben' }] }],
    ['a gateway response', { statusCode: 200, headers: {}, body: '[{"name":"Ann"},{"name":"Ben"}]' }],
    [
      'a gateway response in base64',
      {
        statusCode: 200,
        isBase64Encoded: true,
        body: Buffer.from('[{"name":"Ann"},{"name":"Ben"}]').toString('base64'),
      },
    ],
  ])('may return %s', async (_what, body) => {
    says({ body })
    await open.load()
    expect(await rows()).toMatchObject([{ name: 'Ann' }, { name: 'Ben' }])
  })

  it('is called with its payload until it returns no token, and again when throttled', async () => {
    open.server.requests.length = 0
    says(
      { body: { rows: [{ name: 'Ann' }], nextToken: 'second' } },
      { status: 429, body: { Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded', message: 'Rate Exceeded.' } },
      { body: { rows: [{ name: 'Ben' }] } },
    )
    await open.load('FULL', open.never, { settings: { ...open.settings, payload: { country: 'KE', page: 9 } } })
    expect(await rows()).toMatchObject([{ name: 'Ann' }, { name: 'Ben' }])
    expect(open.pages().map(({ body }) => JSON.parse(body))).toEqual([
      { country: 'KE', page: 1, nextToken: null },
      { country: 'KE', page: 2, nextToken: 'second' },
      { country: 'KE', page: 2, nextToken: 'second' },
    ])
  })

  const failed = { 'x-amz-function-error': 'Unhandled' }
  it.each<[string, StandInResponse, string, RegExp]>([
    [
      'throws, which AWS reports with status 200',
      { headers: failed, body: { errorType: 'KeyError', errorMessage: "'district'", trace: ['secret/path.py'] } },
      'SOURCE_FAILED',
      /failed\. Check the function.* It says: KeyError: 'district'$/,
    ],
    [
      'returns more than 6 MB',
      {
        headers: failed,
        body: {
          errorType: 'Function.ResponseSizeTooLarge',
          errorMessage: 'Response payload size exceeded maximum allowed payload size (6291556 bytes).',
        },
      },
      'ANSWER_TOO_LARGE',
      /fewer rows per call, with a nextToken/,
    ],
    [
      'returns an error status in its gateway response',
      { body: { statusCode: 500, body: '{"message":"no database"}' } },
      'SOURCE_FAILED',
      /status 500 in its response.*no database/,
    ],
    ['returns no rows', { body: { ok: true } }, 'OTHER_PROTOCOL', /has no rows\. Return a list/],
    [
      'returns values that are not objects',
      { body: [1, 2] },
      'EMPTY_SOURCE',
      /the list of rejected rows contains the reasons/,
    ],
    ['returns null', { body: 'null' }, 'OTHER_PROTOCOL', /has no rows/],
    ['returns the same token forever', { body: { rows: [], nextToken: 1 } }, 'OTHER_PROTOCOL', /repeat forever/],
    [
      'is called with a request that is too large',
      { status: 413, body: { Message: 'Request must be smaller than 6291456 bytes', Type: 'User' } },
      'REQUEST_REFUSED',
      /must be smaller than 6291456 bytes/,
    ],
    [
      'may not be invoked with this key',
      { status: 403, body: { Message: 'User: x is not authorized to perform: lambda:InvokeFunction' } },
      'PERMISSION_DENIED',
      /not authorized to perform/,
    ],
  ])('fails with a specific problem when it %s', async (_what, answer, code, message) => {
    says(answer)
    await expect(open.load()).rejects.toMatchObject({
      name: 'SourceProblem',
      code,
      message: expect.stringMatching(message),
    })
  })

  it('rejects rows without a value in the key column that the function names', async () => {
    says({ body: { rows: [{ id: 1 }], key: ['zz'] } })
    await expect(open.load()).rejects.toMatchObject({
      code: 'TOO_MANY_REJECTED_ROWS',
      message: expect.stringContaining('has no value in "zz"'),
    })
  })

  it('is found by name, version and region, and returns REGION_MISSING without a region', async () => {
    const place = { url: open.server.url, functionName: 'people', qualifier: 'live' }
    const tried = (functionSource: object) =>
      open.sources.testConnection(open.reading({ settings: { type: 'FUNCTION', functionSource } }), open.never)
    expect(await tried({ ...place, region: 'EU_WEST_1' })).toBeUndefined()
    expect(await tried({ ...place, region: 'EU_WEST_1', qualifier: 'old' })).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/^The function "people" does not exist at 127\.0\.0\.1:\d+, or/),
    })
    expect(await tried({ ...place, region: 'DEFAULT' })).toMatchObject({ code: 'REGION_MISSING' })
  })

  it('fails with AUTHENTICATION_FAILED if the secret key is wrong', async () => {
    const secrets = { ...open.secrets, secretKey: 'another' }
    expect(await open.sources.testConnection(open.reading({ secrets }), open.never)).toMatchObject({
      code: 'AUTHENTICATION_FAILED',
      message: expect.stringContaining('signature we calculated does not match'),
    })
  })
})
