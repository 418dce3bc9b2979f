import { generateKeyPairSync, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { describeWithIndependentServer } from '../../../test/describe-with-independent-server.ts'
import { fhir } from './fhir-stand-in.ts'
import { openFixture } from '../../../test/connector-harness.ts'
import { startStandInServer } from '../../../test/stand-in-server.ts'

const scratch = scratchWarehouseForAll()
const rowsOf = async (table: string) =>
  (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

describe('FHIR', () => {
  it('restarts an expired search at the last record that was read', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    open.people.generated = 450
    let forgotten = 0
    open.server.fault = ({ query }) =>
      query.get('_getpagesoffset') === '200' && forgotten++ === 0 ? { status: 410, body: {} } : undefined
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(450)
    expect(open.pages().map(({ query }) => query.get('_lastUpdated'))).toEqual([
      null,
      null,
      'ge2026-01-01T00:03:20.000+00:00',
      null,
      null,
    ])
  })

  it('searches unsorted if the server rejects _sort, and then fails if the search expires', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    open.people.generated = 250
    const refused = { status: 400, body: { resourceType: 'OperationOutcome', issue: [{ diagnostics: 'No _sort.' }] } }
    open.server.fault = ({ query }) => (query.has('_sort') ? refused : undefined)
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(250)
    open.server.fault = ({ query }) =>
      query.has('_sort') ? refused : query.has('_getpages') ? { status: 410, body: {} } : undefined
    await expect(open.load()).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
      message: expect.stringMatching(/dropped the search/),
    })
  })

  it('adds the search parameters of the user, except for _sort', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    const settings = { search: 'active=true&_lastUpdated=lt2030&_sort=name&_count=20&name=a%26b' }
    await open.load('FULL', open.never, { settings })
    expect([...open.pages()[0]!.query]).toEqual([
      ['active', 'true'],
      ['_lastUpdated', 'lt2030'],
      ['_count', '20'],
      ['name', 'a&b'],
      ['_sort', '_lastUpdated'],
    ])
  })

  it.each(['rsa', 'ec'] as const)(
    'signs in with a key of type %s at another host, and again when the token has expired',
    async (kind) => {
      const { privateKey, publicKey } =
        kind === 'rsa'
          ? generateKeyPairSync('rsa', { modulusLength: 2048 })
          : generateKeyPairSync('ec', { namedCurve: 'secp384r1' })
      let given = 0
      await using tokens = await startStandInServer(({ path, body, headers }) => {
        const form = new URLSearchParams(body)
        const [header = '', claims = '', signature = ''] = form.get('client_assertion')!.split('.')
        const parsed = [header, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
        const key = kind === 'rsa' ? publicKey : { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
        const valid = verify('sha384', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))
        const [{ alg, kid }, { iss, sub, aud, exp }] = parsed
        expect([path, headers.authorization]).toEqual(['/oauth/token', undefined])
        expect([alg, kid, iss, sub, aud]).toEqual([
          kind === 'rsa' ? 'RS384' : 'ES384',
          'key-1',
          'us',
          'us',
          `${tokens.url}/oauth/token`,
        ])
        expect(exp - Date.now() / 1000).toBeLessThan(300)
        expect([form.get('grant_type'), form.get('scope')]).toEqual(['client_credentials', 'system/*.read'])
        if (!valid) return { status: 400, body: { error: 'invalid_client' } }
        return { body: { access_token: `token-${(given += 1)}`, token_type: 'bearer', expires_in: 300 } }
      })
      const entry = [{ resource: { resourceType: 'Organization', id: '1', name: 'A' } }]
      await using server = await startStandInServer(({ path, headers }) => {
        if (path === '/fhir/.well-known/smart-configuration')
          return { body: { token_endpoint: `${tokens.url}/oauth/token` } }
        // The first token ends before it is used.
        if (headers.authorization !== 'Bearer token-2') return { status: 401, body: {} }
        return { body: { resourceType: 'Bundle', type: 'searchset', entry } }
      })
      await using open = await openFixture(fhir, scratch.warehouse)
      const client = { clientId: 'us', keyId: 'key-1', scope: 'system/*.read' }
      const settings = { apiSource: { url: `${server.url}/fhir`, ...client } }
      const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
      await open.load('FULL', open.never, { settings, secrets: { privateKey: pem } })
      expect(await rowsOf(open.table)).toMatchObject([{ id: '1', name: 'A' }])
      const wrong = await open.sources.testConnection(
        open.reading({ settings, secrets: { privateKey: 'not a key' } }),
        open.never,
      )
      expect(wrong).toMatchObject({ code: 'AUTHENTICATION_FAILED', message: expect.stringContaining('PKCS #8') })
    },
  )
})

describeWithIndependentServer('fhir', 'FHIR with a real server', (server) => {
  it('loads all pages in full mode, and new resources in an increment', async () => {
    const put = async (resource: object): Promise<{ id: string }> => {
      const { resourceType } = resource as { resourceType: string }
      const response = await fetch(`${server.url}/${resourceType}`, {
        method: 'POST',
        body: JSON.stringify(resource),
        headers: { 'content-type': 'application/fhir+json' },
      })
      return (await response.json()) as { id: string }
    }
    const ids: string[] = []
    for (let n = 1; n <= 450; n += 1) {
      const name = [{ family: `Family ${n}`, given: ['Asha', 'B'] }]
      ids.push((await put({ resourceType: 'Patient', name, birthDate: '1990-05', active: n % 2 === 0 })).id)
    }
    const code = { coding: [{ system: 'http://loinc.org', code: '8867-4' }], text: 'Heart rate' }
    const measured = { resourceType: 'Observation', status: 'final', code, subject: { reference: `Patient/${ids[0]}` } }
    await put({ ...measured, valueQuantity: { value: 44.5, unit: 'beats/minute' } })
    await using open = await openFixture(fhir, scratch.warehouse)
    const settings = { apiSource: { url: server.url }, resourceTypes: ['Patient', 'Observation'] }
    await open.load('FULL', open.never, { settings, secrets: {} })
    const patients = await rowsOf(`${open.target}__patient`)
    expect(new Set(patients.map(({ id }) => id))).toEqual(new Set(ids))
    expect(patients[0]).toMatchObject({ birth_date: '1990-05', active: expect.any(Boolean) })
    expect(await rowsOf(`${open.target}__patient__name`)).toHaveLength(450)
    expect(await rowsOf(`${open.target}__observation`)).toMatchObject([
      {
        status: 'final',
        value_quantity_value: '44.5',
        code_text: 'Heart rate',
        subject_reference: `Patient/${ids[0]}`,
      },
    ])
    expect(await rowsOf(`${open.target}__observation__code_coding`)).toMatchObject([{ code: '8867-4' }])
    await put({ resourceType: 'Patient', name: [{ family: 'New' }] })
    await open.load('INCREMENTAL', open.never, { settings, secrets: {} })
    expect(await rowsOf(`${open.target}__patient`)).toHaveLength(451)
  })
})
