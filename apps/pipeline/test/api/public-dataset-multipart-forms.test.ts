import { readdir } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { describe, expect, it } from '@jest/globals'
import { addDomainToDatasetPublishers } from '../../src/worker/maintenance/add-domain-to-dataset-publishers.ts'
import { identityLookups } from '../../src/identity/http-identity-lookups.ts'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { librarians, limit, newKey, pointers, rows } from './public-dataset-setup.ts'

/** No worker is there: whatever a form says is answered before anything is loaded. */
const scene = librarians()
const filesOnDisk = () => readdir(join(scene.service.stack.filesDirectory, 'uploads'))

describe('a multipart form', () => {
  const part = (name: string, value: string, file = '') =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${file && `; filename="${file}"`}\r\n\r\n${value}\r\n`
  const head = (key: string) => part('key', key) + part('name', 'a')
  const end = '--x--\r\n'
  const sent = (body: string, type = 'multipart/form-data; boundary=x') =>
    scene.owner.post('/public-datasets?wait=0').set('content-type', type).send(body)

  it.each([
    ['without a file', (key: string) => head(key) + end, ['/file']],
    ['with a text field instead of a file', (key: string) => head(key) + part('file', rows) + end, ['/file']],
    [
      'with a file in a part of another name',
      (key: string) => head(key) + part('upload', rows, 'a.csv') + end,
      ['/upload'],
    ],
    ['without its fields', () => part('file', rows, 'a.csv') + end, ['/key', '/name']],
    [
      'with a repeated field',
      (key: string) => head(key) + part('name', 'b') + part('file', rows, 'a') + end,
      ['/name'],
    ],
    [
      'with a field that is too large',
      (key: string) => head(key) + part('source', 'a'.repeat(70_000)) + part('file', rows, 'a') + end,
      ['/source'],
    ],
    [
      'with an unknown field',
      (key: string) => head(key) + part('__proto__', 'b') + part('file', rows, 'a') + end,
      ['/__proto__'],
    ],
    ['with an invalid key', () => head('../../etc') + part('file', rows, 'a') + end, ['/key']],
    [
      'with a field after the file',
      (key: string) => head(key) + part('file', rows, 'a') + part('owner', 'b') + end,
      ['/owner'],
    ],
    ['with two files', (key: string) => head(key) + part('file', rows, 'a') + part('file', rows, 'b') + end, ['/']],
  ])('%s is refused, and stores nothing', async (_what, form, wrong) => {
    const before = await filesOnDisk()
    const key = newKey()
    const answer = await sent(form(key)).expect(400)
    expect(pointers(answer.body)).toEqual(expect.arrayContaining(wrong))
    await scene.owner.get(`/public-datasets/${key}`).expect(404)
    expect(await filesOnDisk()).toEqual(before)
  })

  it('is refused if its fields come after the file, and the error says to send them first', async () => {
    const { body } = await sent(part('file', rows, 'a.csv') + head(newKey()) + end).expect(400)
    const detail = 'is required before the file: send all fields before it'
    expect(body.errors).toEqual([
      { pointer: '/key', detail },
      { pointer: '/name', detail },
    ])
    const without = await sent(part('name', 'a') + end).expect(400)
    expect(without.body.errors).toContainEqual({ pointer: '/key', detail: 'is required' })
  })

  it('is refused if it is truncated, and stores nothing', async () => {
    const before = await filesOnDisk()
    for (const cut of [head(newKey()), head(newKey()) + part('file', rows, 'a.csv').slice(0, -10), '--x\r\n', '']) {
      const { status } = await sent(cut)
      expect([cut, status]).toEqual([cut, 400])
    }
    expect(await filesOnDisk()).toEqual(before)
  })

  it('is refused with another content type or without a boundary', async () => {
    await sent('{}', 'application/json').expect(415)
    await sent('a', 'multipart/form-data').expect(415)
    await sent(head(newKey()) + end, 'multipart/mixed; boundary=x').expect(415)
  })

  it('is refused if its file is empty or too large', async () => {
    const before = await filesOnDisk()
    await sent(head(newKey()) + part('file', '', 'a.csv') + end).expect(422)
    await sent(head(newKey()) + part('file', 'a\n'.repeat(limit), 'a.csv') + end).expect(413)
    expect(await filesOnDisk()).toEqual(before)
  })

  it('stores only the base name of the file, without path and control characters', async () => {
    const key = newKey()
    await sent(head(key) + part('file', rows, '../../../../tmp/evil\u0007.csv') + end).expect(201)
    const { name } = await scene.service.stack.db
      .selectFrom('uploaded_files as f')
      .innerJoin('public_datasets as d', 'd.pipeline_id', 'f.pipeline_id')
      .select('f.name')
      .where('d.key', '=', key)
      .executeTakeFirstOrThrow()
    expect(name).toBe('evil.csv')
  })

  it('stores nothing if the sender disconnects', async () => {
    const before = await filesOnDisk()
    const key = newKey()
    const asking = request(`${scene.service.url}/api/v1/public-datasets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${scene.token}`, 'content-type': 'multipart/form-data; boundary=x' },
    })
    asking.on('error', () => {})
    asking.write(head(key) + part('file', rows.repeat(1000), 'a.csv').slice(0, -2))
    await until(async () => (await filesOnDisk()).length > before.length)
    asking.destroy()
    await until(async () => (await filesOnDisk()).length === before.length)
    await scene.owner.get(`/public-datasets/${key}`).expect(404)
  })

  it('is validated before the file has been received completely', async () => {
    const asking = request(`${scene.service.url}/api/v1/public-datasets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${scene.token}`, 'content-type': 'multipart/form-data; boundary=x' },
    })
    const answer = new Promise<any>((resolve, reject) => {
      asking.once('error', reject)
      asking.once('response', (response: IncomingMessage) => {
        json(response).then(resolve, reject)
      })
    })
    asking.write(part('key', 'No Key') + part('file', rows, 'a.csv').slice(0, -2))
    expect(pointers(await answer)).toEqual(expect.arrayContaining(['/key', '/name']))
    asking.destroy()
  })
})

describe('the permission to publish datasets', () => {
  it('requires the catalogue domain, a super admin, or an organisation that published before the rule existed', async () => {
    const { service } = scene
    const { identity, stack } = service
    const client = await identity.client()
    const person = await identity.person(client.id, ['ROLE_MANAGE_PUBLIC_DATASET_CATALOG'])
    const superAdmin = await identity.person(client.id, ['ROLE_SUPER_ADMIN'])
    const send = (by: Person) =>
      service
        .as(by)
        .post('/public-datasets?wait=0')
        .field({ key: newKey(), name: 'People' })
        .attach('file', Buffer.from(rows), 'a.csv')
    const { body } = await send(person).expect(403)
    expect(body.detail).toContain('`domain` PUBLIC_DATASET_CATALOG')
    await send(superAdmin).expect(201)

    await stack.db.insertInto('dataset_publishers').values({ client: client.id }).execute()
    await send(person).expect(201)
    const lookups = identityLookups(service.config)
    await addDomainToDatasetPublishers({ db: stack.db, identity: lookups }).run(AbortSignal.timeout(60_000))
    expect(await stack.db.selectFrom('dataset_publishers').selectAll().execute()).toEqual([])
    expect((await lookups.client(client.id))?.domain).toBe('PUBLIC_DATASET_CATALOG')
  })
})
