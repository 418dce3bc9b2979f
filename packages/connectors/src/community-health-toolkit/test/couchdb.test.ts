import { expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { communityHealthToolkit } from './community-health-toolkit-stand-in.ts'
import { describeWithIndependentServer } from '../../../test/describe-with-independent-server.ts'
import { openFixture } from '../../../test/connector-harness.ts'

const scratch = scratchWarehouseForAll()
const rowsOf = async (table: string) =>
  (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

const headers = {
  authorization: `Basic ${Buffer.from('reader:a-passphrase-of-cht').toString('base64')}`,
  'content-type': 'application/json',
}

describeWithIndependentServer('couchdb', 'the Community Health Toolkit with a real CouchDB server', (couchdb) => {
  it('loads all pages in full mode, and marks deleted documents in an increment', async () => {
    const ask = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${couchdb.url}/${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      expect([path, response.ok]).toEqual([path, true])
      return (await response.json()) as { id: string; rev: string }[]
    }
    const person = (n: number, name = `Person ${n}`) => ({ _id: `person-${n}`, type: 'person', name, phone: '+2547' })
    await ask('PUT', 'medic')
    const docs = Array.from({ length: 1_500 }, (_, n) => person(n))
    const report = { _id: 'r1', type: 'data_record', form: 'pregnancy', reported_date: 1_767_261_600_000 }
    const createdAt = await ask('POST', 'medic/_bulk_docs', {
      docs: [...docs, { ...report, fields: { visits: [{ weight: '51.2' }] } }, { _id: 'task~1', type: 'task' }],
    })
    await using open = await openFixture(communityHealthToolkit, scratch.warehouse)
    const target = open.table.replace('__contact_c62_person', '')
    const settings = { apiSource: { url: couchdb.url, username: 'reader' } }
    const changes = { settings, secrets: { password: 'a-passphrase-of-cht' } }
    expect(await open.sources.testConnection(open.reading(changes), open.never)).toBeUndefined()
    const wrong = open.reading({ settings, secrets: { password: 'wrong-passphrase' } })
    expect(await open.sources.testConnection(wrong, open.never)).toMatchObject({ code: 'AUTHENTICATION_FAILED' })
    await open.load('FULL', open.never, changes)
    expect(await rowsOf(target)).toHaveLength(1_501)
    expect(await rowsOf(`${target}__contact_person`)).toHaveLength(1_500)
    expect(await rowsOf(`${target}__report_pregnancy__fields_visits`)).toMatchObject([{ weight: '51.2' }])

    const [first, second] = [createdAt[0]!, createdAt[1]!]
    await ask('POST', 'medic/_bulk_docs', {
      docs: [
        { ...person(0, 'Renamed'), _rev: first.rev },
        { _id: 'person-1', _rev: second.rev, _deleted: true },
        person(2_000),
      ],
    })
    await open.load('INCREMENTAL', open.never, changes)
    const rows = await rowsOf(target)
    expect(rows).toHaveLength(1_502)
    expect(rows.filter((row) => row['deleted'])).toMatchObject([{ _id: 'person-1' }])
    expect(rows.find((row) => row['_id'] === 'person-0')).toMatchObject({ name: 'Renamed' })
    await open.load('FULL', open.never, changes)
    expect(await rowsOf(`${target}__contact_person`)).toHaveLength(1_500)
  })
})
