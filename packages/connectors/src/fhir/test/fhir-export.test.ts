import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { fhir } from './fhir-stand-in.ts'
import { People } from '../../../test/sample-records.ts'
import { openFixture } from '../../../test/connector-harness.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'

const token = 'a-bearer-token-0123456789'
const moments = ['2026-03-01T10:00:00.000Z', '2026-03-02T10:00:00.000Z']

/** A server of Bulk Data: its status and its files are beside its FHIR, and files may be at another host. */
function exporting(files = ''): ConnectorFixture {
  return {
    ...fhir,
    async start() {
      let [kickedOff, polled] = [0, 0]
      const server = await startStandInServer(answer)
      const lines = (type: string) =>
        [1, 2, 3].map((id) => `${JSON.stringify({ resourceType: type, id: `${type}-${id}`, value: id })}\n`).join('')

      function answer({ method, path, headers }: StandInRequest): StandInResponse {
        if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: {} }
        if (path.endsWith('/$export')) {
          if (headers.prefer !== 'respond-async') return { status: 400, body: {} }
          ;[kickedOff, polled] = [kickedOff + 1, 0]
          return { status: 202, headers: { 'content-location': `${server.url}/bulk/status/1` } }
        }
        if (path === '/bulk/status/1' && method === 'DELETE') return { status: 202 }
        if (path === '/bulk/status/1') {
          polled += 1
          if (polled < 3) return { status: 202, headers: { 'x-progress': 'halfway', 'retry-after': '0.1' } }
          const output = ['Patient', 'Observation'].map((type) => ({
            type,
            url: `${files || server.url}/bulk/${type}.ndjson`,
          }))
          return {
            body: { transactionTime: moments[kickedOff - 1], requiresAccessToken: true, output, error: [] },
          }
        }
        const [, type] = /^\/bulk\/(\w+)\.ndjson$/.exec(path) ?? []
        return type === undefined ? { status: 404, body: {} } : { body: lines(type) }
      }

      return {
        server,
        people: new People(),
        settings: {
          type: 'FHIR',
          apiSource: { url: `${server.url}/fhir` },
          method: 'BULK_EXPORT',
          resourceTypes: ['Patient', 'Observation'],
        },
        secrets: { authToken: token },
        isPageRequest: ({ path }: StandInRequest) => path.endsWith('/$export'),
      }
    },
  }
}

describe('a FHIR bulk export', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  it('is requested once for all types, read and deleted; an increment requests the changes since', async () => {
    await using open = await openFixture(exporting(), scratch.warehouse)
    await open.load()
    for (const type of ['patient', 'observation']) expect(await rowsOf(`${open.target}__${type}`)).toHaveLength(3)
    expect(open.server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /fhir/$export',
      'GET /bulk/status/1',
      'GET /bulk/status/1',
      'GET /bulk/status/1',
      'GET /bulk/Patient.ndjson',
      'GET /bulk/Observation.ndjson',
      'DELETE /bulk/status/1',
    ])
    await open.load('INCREMENTAL')
    expect(open.pages().map(({ query }) => [query.get('_type'), query.get('_since')])).toEqual([
      ['Patient,Observation', null],
      ['Patient,Observation', moments[0]],
    ])
  })

  it('can be limited to a group', async () => {
    await using open = await openFixture(exporting(), scratch.warehouse)
    await open.load('FULL', open.never, { settings: { group: '4/2' } })
    expect(open.pages()[0]!.path).toBe('/fhir/Group/4%2F2/$export')
  })

  it('is rejected if its files require the access token but are on another host', async () => {
    const asked: (string | undefined)[] = []
    await using files = await startStandInServer(({ headers, path }) => {
      asked.push(headers.authorization)
      const type = path.includes('Patient') ? 'Patient' : 'Observation'
      return { body: JSON.stringify({ resourceType: type, id: '1' }) }
    })
    const elsewhere = files.url.replace('127.0.0.1', 'localhost')
    await using open = await openFixture(exporting(elsewhere), scratch.warehouse)
    await expect(open.load()).rejects.toMatchObject({
      code: 'REDIRECTED',
      message: expect.stringContaining('localhost'),
    })
    expect(asked).toEqual([])
  })

  it('fails with a source problem if the server cannot export, or if a file is incomplete', async () => {
    await using open = await openFixture(exporting(), scratch.warehouse)
    const faults: [RegExp, StandInResponse | 'BREAKS_OFF', string][] = [
      [/export$/, { status: 404, body: {} }, 'NOT_FOUND'],
      [/export$/, { status: 202 }, 'OTHER_PROTOCOL'],
      [/status/, { status: 500, body: { issue: [{ diagnostics: 'Out of disk.' }] } }, 'SOURCE_FAILED'],
      [/Patient/, 'BREAKS_OFF', 'CONNECTION_LOST'],
      [/Patient/, { body: '{"resourceType":"Patient","id":"1"' }, 'OTHER_PROTOCOL'],
    ]
    for (const [at, fault, code] of faults) {
      open.server.fault = ({ path }) => (at.test(path) ? fault : undefined)
      await expect(open.load()).rejects.toMatchObject({ name: 'SourceProblem', code })
    }
  })

  it('stops waiting when the run is cancelled while the server prepares the export', async () => {
    await using open = await openFixture(exporting(), scratch.warehouse)
    open.server.fault = ({ path }) =>
      path.includes('status') ? { status: 202, headers: { 'retry-after': '600', 'x-progress': '1%' } } : undefined
    const cancel = new AbortController()
    const loading = open.load('FULL', cancel.signal).catch((error: unknown) => error)
    while (open.server.requests.length < 2) await new Promise((resolve) => setImmediate(resolve))
    const reason = new Error('cancelled')
    cancel.abort(reason)
    expect(await loading).toBe(reason)
  })
})
