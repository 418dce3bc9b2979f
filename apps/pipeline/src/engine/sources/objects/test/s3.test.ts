import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Reading } from '../../reading.ts'
import { type Loading, never, openLoading } from './loading.ts'
import { startSwift, type Swift, swiftMissing } from './swift.ts'

const missing = swiftMissing()
if (missing) console.warn(`Tests of buckets as a source are skipped: ${missing}.`)

;(missing ? describe.skip : describe)('a bucket of OpenStack Swift', () => {
  let swift: Swift
  let loading: Loading

  beforeAll(async () => {
    swift = await startSwift()
    await swift.put('cases')
    loading = await openLoading()
  }, 300_000)
  afterAll(async () => {
    await loading?.[Symbol.asyncDispose]()
    await swift?.[Symbol.asyncDispose]()
  })

  const reading = (
    key: string,
    changes: Record<string, unknown> = {},
    secrets: Record<string, string> = {},
  ): Reading => {
    const objectStoreSource = { bucket: 'cases', endpoint: swift.endpoint, pathStyle: true, ...changes }
    const { accessKey, secretKey } = swift
    return {
      type: 'OBJECT_STORAGE_BUCKET',
      settings: { objectStoreSource, key, delimiter: 'COMMA' },
      secrets: { accessKey, secretKey, ...secrets },
      input: {},
    }
  }

  it('gives one object of delimited text', async () => {
    await swift.put('cases/data/cases.csv', Buffer.from('id,name\n1,Kéo\n2,\n'))
    const { tables, heard } = await loading.load(reading('data/cases.csv'))
    expect(tables).toMatchObject([{ table: 'target', rows: 2 }])
    expect(await loading.rows()).toEqual([
      ['1', 'Kéo'],
      ['2', null],
    ])
    expect(heard.totals).toMatchObject({ rowsRead: 2 })
  })

  it.each([
    [
      'an access key that nobody has',
      {},
      { accessKey: 'nobody:here' },
      'AUTHENTICATION_FAILED',
      'does not take the access key "nobody:here"',
    ],
    [
      'a wrong secret',
      {},
      { secretKey: 'swordfish' },
      'AUTHENTICATION_FAILED',
      'access key "test:tester" with this secret key',
    ],
    ['a bucket that is not there', { bucket: 'nowhere' }, {}, 'BUCKET_MISSING', 'no bucket "nowhere"'],
    ['another region', { region: 'eu-west-9' }, {}, 'OTHER_REGION', 'It is in "us-east-1"'],
  ])('is not reached with %s, and says why', async (_what, changes, secrets, code, words) => {
    const { test } = loading.kinds['OBJECT_STORAGE_BUCKET']!
    const refused = { code, message: expect.stringContaining(words) }
    await expect(test!(reading('data/', changes, secrets), never)).rejects.toMatchObject(refused)
    await expect(test!(reading('data/cases.csv', changes, secrets), never)).rejects.toMatchObject(refused)
  })
})
