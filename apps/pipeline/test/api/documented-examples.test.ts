import { randomUUID } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  createContractChecker,
  pipelineOperations,
  pipelineTypes,
  pipelineVariants,
  type OperationSignature,
} from '@sluice/contracts'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { datasetForm } from './valid-public-dataset-requests.ts'

/** A body from the docs, and the request that sends it. */
interface Example {
  page: string
  method: string
  path: string
  text: string
}

const docs = new URL('../../../../docs/', import.meta.url)
const examples = globSync('*.md', { cwd: docs.pathname }).flatMap((page): Example[] => {
  const blocks = readFileSync(new URL(page, docs), 'utf8').matchAll(/^ *```json (\w+) (\S+)\n(.*?)^ *```$/gms)
  return [...blocks].map(([, method = '', path = '', text = '']) => ({
    page,
    method: method.toLowerCase(),
    path,
    text,
  }))
})
const named = (found: Example[]) =>
  found.map((one): [string, Example] => [`${one.page}: ${one.path} ${typeOf(one)}`, one])
const typeOf = ({ text }: Example): string => /"type": "(\w+)"/.exec(text)?.[1] ?? ''
const pipelines = examples.filter(({ path }) => path === '/data-pipelines')
const lookups = examples.filter(({ path }) => path.startsWith('/lookups/'))

/** Replaces the placeholders of the docs by an object's id and by secrets. */
function bodyOf({ text }: Example, id: string = randomUUID()): any {
  return JSON.parse(text.replaceAll(/"(id|uid)": "…"/g, `"$1": "${id}"`).replaceAll('"…"', '"a-secret"'))
}

const signatures = Object.values(pipelineOperations).flatMap((noun): OperationSignature[] => Object.values(noun))
const signatureOf = ({ method, path }: Example): OperationSignature | undefined =>
  signatures.find((one) => one.method === method && new RegExp(`^${one.path.replaceAll(/:\w+/g, '[^/]+')}$`).test(path))

/** The connection of a look-up, at an address where nothing listens. */
function unreachable({ jdbcSource, objectStoreSource, blobStoreSource }: any): object {
  const endpoint = 'http://127.0.0.1:1'
  if (jdbcSource) return { jdbcSource: { ...jdbcSource, hostname: '127.0.0.1', port: 1 } }
  if (objectStoreSource) return { objectStoreSource: { ...objectStoreSource, endpoint } }
  if (blobStoreSource) return { blobStoreSource: { ...blobStoreSource, endpoint, accountKey: 'A'.repeat(88) } }
  return { url: endpoint }
}

let service: Service
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client({ domain: 'PUBLIC_DATASET_CATALOG' })
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG'] as const
  owner = service.as(await service.identity.person(id, [...roles]))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  const form = owner.post('/public-datasets?wait=0').type('multipart/form-data; boundary=x')
  await form.send(datasetForm('world_population')).expect(201)
})
afterAll(() => service?.stop())

it.each(named(examples))('%s is valid by its contract', (_name, example) => {
  const { body } = signatureOf(example)!
  expect(createContractChecker(body!)(bodyOf(example))).not.toHaveProperty('violations')
})

it.each(named(pipelines))('%s can be saved', async (_name, example) => {
  const { body } = await owner.post('/data-pipelines').send(bodyOf(example, schema)).expect(201)
  expect(body.type).toBe(typeOf(example))
})

it('the examples cover each type of pipeline, and a look-up for each type with an API, a database or an object store', () => {
  expect([...new Set(pipelines.map(typeOf))].toSorted()).toEqual(pipelineTypes.toSorted())
  const looked = pipelineVariants.filter(({ ownFields }) =>
    ownFields.some((field) => /^(apiSource|jdbcSource|objectStoreSource|blobStoreSource)$/.test(field)),
  )
  const found = lookups.map(({ path }) => path.split('/')[2])
  expect([...new Set(found)].toSorted()).toEqual(looked.map(({ type }) => type).toSorted())
})

it.each(named(lookups))(
  '%s passes validation and fails only when it connects to the source',
  async (_name, example) => {
    const body = bodyOf(example)
    // Nothing listens at this address: a test must not call the servers that the docs name.
    const answer = await owner.post(example.path).send({ ...body, ...unreachable(body) })
    expect([answer.status, answer.body.detail]).toEqual([422, expect.stringMatching(/127\.0\.0\.1|cannot read from/)])
  },
)
