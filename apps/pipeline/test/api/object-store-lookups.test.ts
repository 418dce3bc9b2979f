import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { datasetForm } from './valid-public-dataset-requests.ts'

let service: Service
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  const { id: client } = await service.identity.client({ domain: 'PUBLIC_DATASET_CATALOG' })
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG'] as const
  owner = service.as(await service.identity.person(client, [...roles]))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const refusal = async (path: string, body: object) => (await owner.post(path).send(body).expect(422)).body.errors?.[0]

describe('a look-up in an object store', () => {
  it('needs only what the kind of options needs, and says what is missing', async () => {
    const [s3, azure] = ['/lookups/OBJECT_STORAGE_BUCKET', '/lookups/CLOUD_BLOB_STORAGE']
    expect(await refusal(`${s3}/objects`, {})).toMatchObject({ pointer: '/objectStoreSource' })
    expect(await refusal(`${s3}/objects`, { objectStoreSource: {} })).toEqual({
      pointer: '/objectStoreSource/bucket',
      detail: 'Enter the name of the bucket.',
    })
    const endpoint = 'http://user:word@127.0.0.1:1'
    expect(await refusal(`${s3}/buckets`, { objectStoreSource: { endpoint } })).toMatchObject({
      pointer: '/objectStoreSource/endpoint',
    })
    expect(await refusal(`${azure}/blobs`, { blobStoreSource: {} })).toMatchObject({
      pointer: '/blobStoreSource/account',
    })
    expect(await refusal(`${azure}/blobs`, { blobStoreSource: { account: 'mystorage' } })).toMatchObject({
      pointer: '/blobStoreSource/container',
    })
    const nobody = { account: 'mystorage', endpoint: 'http://127.0.0.1:1' }
    const { body } = await owner.post(`${azure}/containers`).send({ blobStoreSource: nobody }).expect(422)
    expect(body.detail).toContain('127.0.0.1:1')
    await owner
      .post(`${s3}/tables`)
      .send({ objectStoreSource: { bucket: 'cases' } })
      .expect(404)
  })

  it('of a saved pipeline does not send its stored keys to another address', async () => {
    const objectStoreSource = {
      bucket: 'cases',
      endpoint: 'http://127.0.0.1:1',
      accessKey: 'AKIA',
      secretKey: 'secret',
    }
    const source = { type: 'OBJECT_STORAGE_BUCKET', objectStoreSource, key: 'data/', delimiter: 'COMMA' }
    const { body: pipeline } = await owner.post('/data-pipelines').send(pipelineBody(schema, source)).expect(201)
    const path = `/data-pipelines/${pipeline.id}/lookups/objects`
    const stored = await owner.post(path).send({ within: 'data/' }).expect(422)
    expect(stored.body.detail).toContain('127.0.0.1:1')
    const other = await owner
      .post(path)
      .send({ objectStoreSource: { bucket: 'other' } })
      .expect(422)
    expect(other.body.detail).toContain('127.0.0.1:1')
    const moved = { objectStoreSource: { endpoint: 'http://127.0.0.1:2' } }
    expect(await refusal(path, moved)).toMatchObject({
      pointer: '/objectStoreSource/accessKey',
      detail: expect.stringContaining('belongs to the old address'),
    })
  })
})

describe('a look-up of public datasets', () => {
  it('lists their keys and names, and finds them by a part of either', async () => {
    const upload = owner.post('/public-datasets?wait=0').type('multipart/form-data; boundary=x').send(datasetForm())
    const { body: dataset } = await upload.expect(201)
    const lookUp = async (path: string, body: object) => (await owner.post(path).send(body).expect(200)).body
    const option = { id: dataset.key, code: dataset.key, name: dataset.name }
    expect(await lookUp('/lookups/PUBLIC_DATASET/public-datasets', {})).toContainEqual(option)
    const query = dataset.key.slice(3).toUpperCase()
    expect(await lookUp('/lookups/PUBLIC_DATASET/public-datasets', { query })).toEqual([option])
    expect(await lookUp('/lookups/PUBLIC_DATASET/public-datasets', { query: 'no%such' })).toEqual([])
    const source = { type: 'PUBLIC_DATASET', key: dataset.key }
    const { body: pipeline } = await owner.post('/data-pipelines').send(pipelineBody(schema, source)).expect(201)
    const saved = `/data-pipelines/${pipeline.id}/lookups/public-datasets`
    expect(await lookUp(saved, { query })).toEqual([option])
    await owner.post('/lookups/PUBLIC_DATASET/tables').send({}).expect(404)
  })
})
