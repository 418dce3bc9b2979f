import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connectorNames, type PipelineType } from '@sluice/contracts'
import { unsealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { type Sample, samples, withSecrets } from './pipeline-type-samples.ts'

let service: Service
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  owner = service.as(await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const all = Object.entries(samples) as [PipelineType, Sample][]
const secretive = all.filter(([, { secrets }]) => secrets)
const bodyOf = (type: PipelineType, own: object) => pipelineBody(schema, { type, ...own })
const pointers = (body: any): string[] => body.errors.map(({ pointer }: { pointer: string }) => pointer)

const stored = async (uid: string) => {
  const row = await service.stack.db
    .selectFrom('data_pipelines')
    .select(['uid', 'source_secrets', 'settings'])
    .where('uid', '=', uid)
    .executeTakeFirstOrThrow()
  return { open: unsealSourceSecrets(row, service.config.SECRET_KEYS), settings: JSON.stringify(row.settings) }
}

describe('a pipeline', () => {
  it.each(all)(
    'of type %s returns its own fields, accepts them in PUT, and keeps its secrets encrypted',
    async (type, sample) => {
      const { own, secrets } = sample
      const value = `value-${randomUUID()}`
      const made = await owner
        .post('/data-pipelines')
        .send(bodyOf(type, withSecrets(sample, value)))
        .expect(201)
      expect(made.body).toMatchObject({ type, typeName: connectorNames[type], typeKey: type.toLowerCase(), ...own })
      const { id } = made.body
      const put = await owner.put(`/data-pipelines/${id}`).send(made.body).expect(200)
      expect(put.body).toMatchObject({ type, ...own })
      const read = await owner.get(`/data-pipelines/${id}`).expect(200)
      for (const { text } of [made, put, read]) expect(text).not.toContain(value)

      const names = secrets?.slice(1) ?? []
      const kept = await stored(id)
      expect(kept.open).toEqual(Object.fromEntries(names.map((name) => [name, value])))
      expect(kept.settings).not.toContain(value)
      await owner
        .put(`/data-pipelines/${id}`)
        .send(bodyOf(type, withSecrets(sample, null)))
        .expect(200)
      expect((await stored(id)).open).toEqual(kept.open)
      await owner
        .put(`/data-pipelines/${id}`)
        .send(bodyOf(type, withSecrets(sample, '')))
        .expect(200)
      expect((await stored(id)).open).toEqual({})
    },
  )

  it.each(secretive.filter(([type]) => type !== 'ONLINE_SPREADSHEET'))(
    'of type %s does not send its secrets to another address',
    async (type, sample) => {
      const { own, secrets } = sample
      const [field, name] = secrets!
      const { body } = await owner
        .post('/data-pipelines')
        .send(bodyOf(type, withSecrets(sample, 'a value')))
        .expect(201)
      const source = own[field] as Record<string, unknown>
      const address = ['url', 'hostname', 'endpoint', 'account'].find((one) => one in source)!
      const elsewhere = { ...source, [address]: String(source[address]).replace(/example\.org|count$/, 'evil') }
      const moved = { ...own, [field]: elsewhere }
      const refused = await owner.put(`/data-pipelines/${body.id}`).send(bodyOf(type, moved)).expect(422)
      expect(pointers(refused.body)).toEqual([`/${field}/${name}`])
      const brought = withSecrets({ own: moved, secrets: secrets! }, 'another')
      await owner.put(`/data-pipelines/${body.id}`).send(bodyOf(type, brought)).expect(200)
      expect(Object.values((await stored(body.id)).open)).toEqual(secrets!.slice(1).map(() => 'another'))
    },
  )
})

describe('a source', () => {
  const at = (type: PipelineType, changes: Record<string, unknown>) => [type, changes] as const
  const api = (type: keyof typeof samples, changes: object) =>
    at(type, { apiSource: { ...(samples[type].own['apiSource'] as object), ...changes } })

  it.each([
    ['a password in its address', api('SOURCE_SYSTEM_E', { url: 'https://me:secret@example.org' }), '/apiSource/url'],
    ['a query string in its address', api('SOURCE_SYSTEM_D', { url: 'https://example.org/?a=b' }), '/apiSource/url'],
    ['a fragment in its address', api('SOURCE_SYSTEM_F', { url: 'https://example.org/#a' }), '/apiSource/url'],
    ['an address without a host', api('SOURCE_SYSTEM_G', { url: 'https://:80' }), '/apiSource/url'],
    ['an end date before the start date', at('SOURCE_SYSTEM_H', { endDate: '2025-01-01' }), '/endDate'],
    ['an empty selection of forms and case types', at('SOURCE_SYSTEM_B', { caseTypes: [] }), '/forms'],
    ['both a report and resources', at('SOURCE_SYSTEM_D', { resourceTypes: ['Basic'] }), '/resourceTypes'],
    ['data values without a period', at('SOURCE_SYSTEM_C', { periods: [] }), '/periods'],
    ['both periods and dates', at('SOURCE_SYSTEM_C', { startDate: '2026-01-01' }), '/periods'],
    ['events without a program', at('SOURCE_SYSTEM_C', { content: 'EVENTS', periods: [] }), '/programs'],
    ['both a token and a password', api('SOURCE_SYSTEM_C', { authToken: 'a', password: 'b' }), '/apiSource/authToken'],
    ['a password without a username', api('SOURCE_SYSTEM_C', { password: 'b' }), '/apiSource/username'],
    ['a search for the export method', at('FHIR', { search: 'a=b' }), '/search'],
    ['a group for the search method', at('FHIR', { method: 'SEARCH', group: '1' }), '/group'],
    ['an empty function source', at('FUNCTION', { functionSource: {} }), '/functionSource/url'],
    [
      'an access key without a secret key',
      at('OBJECT_STORAGE_BUCKET', { objectStoreSource: { bucket: 'my-bucket', accessKey: 'a' } }),
      '/objectStoreSource/secretKey',
    ],
    [
      'a bucket source without a bucket',
      at('OBJECT_STORAGE_BUCKET', { objectStoreSource: {} }),
      '/objectStoreSource/bucket',
    ],
    ['an unclosed bracket in its key', at('OBJECT_STORAGE_BUCKET', { key: 'a[b' }), '/key'],
    ['** within a name in its key', at('CLOUD_BLOB_STORAGE', { key: 'a**.csv' }), '/key'],
    [
      'a delimiter for a type that ignores it',
      at('CLOUD_BLOB_STORAGE', { csvOptions: { delimiter: 'TAB' } }),
      '/csvOptions/delimiter',
    ],
    [
      'a spreadsheet on another site',
      at('ONLINE_SPREADSHEET', { spreadsheetSource: { url: 'https://docs.google.com.evil.example/spreadsheets/d/1' } }),
      '/spreadsheetSource/url',
    ],
    [
      'an invalid service account key',
      at('ONLINE_SPREADSHEET', {
        spreadsheetSource: {
          ...(samples.ONLINE_SPREADSHEET.own['spreadsheetSource'] as object),
          serviceAccountKey: '{"private_key": "canary"}',
        },
      }),
      '/spreadsheetSource/serviceAccountKey',
    ],
  ] as const)('is refused with %s', async (_what, [type, changes], pointer) => {
    const own = { ...samples[type as keyof typeof samples].own, ...changes }
    const answer = await owner.post('/data-pipelines').send(bodyOf(type, own)).expect(422)
    expect(pointers(answer.body)).toEqual([pointer])
    expect(answer.text).not.toContain('canary')
  })

  it('is refused without the required fields of its type', async () => {
    const own = { apiSource: {}, facilities: [], startDate: 'soon' }
    const { body } = await owner.post('/data-pipelines').send(bodyOf('SOURCE_SYSTEM_H', own)).expect(400)
    expect(pointers(body).toSorted()).toEqual(['/apiSource/url', '/endDate', '/facilities', '/startDate'])
    const { body: other } = await owner.post('/data-pipelines').send(bodyOf('WAREHOUSE_A', {})).expect(400)
    expect(pointers(other).toSorted()).toEqual(['/jdbcSource', '/region', '/roleIdentifier'])
  })
})
