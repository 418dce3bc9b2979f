import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  pipelineOperations,
  recordActions,
  type OperationSignature,
  type RecordAction,
  type Role,
} from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { datasetForm } from './valid-public-dataset-requests.ts'
import { seededRandom } from './seeded-random.ts'
import { type Open, sharedResources } from './shared-resources.ts'
import { viewBody } from './view-fixtures.ts'

const { oneOf, some } = seededRandom(20_261_127)

/** Records of each kind. */
const drawn = drawCount({ short: 3, long: 40 })

interface Tester {
  id: string
  asking: Asking
}

const manageRoles = sharedResources.map(([_path, manage]) => manage)
const toSee = (manage: Role) => manage.replace('_MANAGE_', '_SEE_') as Role

let service: Service
let client: string
let owners: Tester[]
let testers: Tester[]
let groups: string[]
let open: Open
beforeAll(async () => {
  service = await startService()
  const { identity } = service
  client = (await identity.client()).id
  const create = async (roles: Role[]) => {
    const person = await identity.person(client, roles)
    return { person, id: person.id, asking: service.as(person) }
  }
  const variables: Role[] = ['ROLE_MANAGE_VARIABLE']
  const owning = [await create([...manageRoles, ...variables]), await create([...manageRoles, ...variables])]
  // For each kind of record, a reader has no role, the role to see it, or the role to manage it.
  const drawRoles = () => manageRoles.flatMap((manage) => oneOf([[], [toSee(manage)], [manage]]))
  const readers = await Promise.all([drawRoles(), drawRoles(), drawRoles(), manageRoles.map(toSee)].map(create))
  const superAdmin = await create(['ROLE_SUPER_ADMIN'])
  owners = owning
  testers = [...owning, ...readers, superAdmin]
  groups = await Promise.all([
    identity.group(client, [readers[0]!.person, readers[1]!.person]),
    identity.group(client, [readers[2]!.person]),
  ])
  const access = { publicAccess: 'READ_WRITE' }
  const [{ asking }] = owners as [Tester]
  const schema = (await asking.post('/schemas').send(schemaBody({ access })).expect(201)).body
  await (await service.stack.warehouses.open(client)).catalog.ensureSchema(schema.schemaName)
  const view = await asking.post('/views').send(viewBody(schema.id, 'select 1 as one', { access }))
  open = { schema: schema.id, view: view.body.id }
})
afterAll(() => service?.stop())

function randomGrants() {
  const granted = (ids: string[]) => some(ids).map((id) => ({ id, access: oneOf(['READ', 'READ_WRITE']) }))
  return {
    publicAccess: oneOf(['NONE', 'NONE', 'READ', 'READ_WRITE']),
    userAccess: granted(testers.map(({ id }) => id)),
    userGroupAccess: granted(groups),
  }
}

const signatures = Object.values(pipelineOperations).flatMap((noun): OperationSignature[] => Object.values(noun))
const hasPath = (path: string) => signatures.some((signature) => signature.path === path)

/** The actions whose operation is not refused with 403 or 404. A stale version keeps the record as it is. */
async function findAllowedActions(asking: Asking, noun: string, id: string, body: object): Promise<RecordAction[]> {
  const path = `/${noun}/${id}`
  const stale = (method: 'put' | 'delete', at: string) => asking[method](at).set('If-Match', '"9999"')
  const requests: Record<RecordAction, (() => PromiseLike<{ status: number }>) | undefined> = {
    read: () => asking.get(path),
    write: () => stale('put', path).send(body),
    run: hasPath(`/${noun}/:uid/run`) ? () => asking.post(`${path}/run`).send({}) : undefined,
    share: hasPath(`/${noun}/:uid/access`)
      ? () => stale('put', `${path}/access`).send({ userAccess: [], userGroupAccess: [] })
      : undefined,
    delete: () => stale('delete', path),
  }
  const answers = await Promise.all(
    recordActions.map(async (action) => ({ action, status: (await requests[action]?.())?.status })),
  )
  for (const { action, status = 0 } of answers)
    if (status >= 500) throw new Error(`The request to ${action} ${path} returned ${status}.`)
  return answers.flatMap(({ action, status = 404 }) => (status === 403 || status === 404 ? [] : [action]))
}

/** The field `may` of each record that a list shows, by id; undefined if the list itself is refused. */
async function listPermissions(asking: Asking, noun: string): Promise<Map<string, RecordAction[]> | undefined> {
  const { status, body } = await asking.get(`/${noun}?paging=false`)
  if (status === 403) return undefined
  return new Map((body.results ?? body).map(({ id, may }: { id: string; may: RecordAction[] }) => [id, may]))
}

describe.each(sharedResources)('the field may of %s', (noun, _manage, bodyOf) => {
  it('has exactly the actions that the service then allows, for generated roles and grants', async () => {
    const ids: string[] = []
    for (let more = 0; more < drawn; more += 1) {
      const created = await oneOf(owners)
        .asking.post(`/${noun}`)
        .send({ ...bodyOf(open), access: randomGrants() })
        .expect(201)
      ids.push(created.body.id)
    }
    const seen = new Set<string>()
    for (const { asking } of testers) {
      const listed = await listPermissions(asking, noun)
      for (const id of ids) {
        const allowed = await findAllowedActions(asking, noun, id, bodyOf(open))
        const may = listed?.get(id) ?? []
        expect([noun, id, may]).toEqual([noun, id, allowed])
        if (listed?.has(id)) {
          const { body } = await asking.get(`/${noun}/${id}`).expect(200)
          expect(body.may).toEqual(may)
        }
        seen.add(may.join())
      }
    }
    // The generated cases include records without any action, read-only ones, and those with all actions.
    expect(seen.size).toBeGreaterThanOrEqual(3)
  })
})

describe('the field may', () => {
  it('follows the roles of a caller for variables, which are not shared', async () => {
    const [owner] = owners as [Tester]
    const body = { name: 'REGION', secured: false, value: 'north' }
    const { body: variable } = await owner.asking.post('/variables').send(body).expect(201)
    const seer = service.as(await service.identity.person(client, ['ROLE_SEE_VARIABLE']))
    for (const [asking, may] of [
      [owner.asking, ['read', 'write', 'delete']],
      [seer, ['read']],
    ] as const) {
      expect((await listPermissions(asking, 'variables'))!.get(variable.id)).toEqual(may)
      expect(await findAllowedActions(asking, 'variables', variable.id, body)).toEqual(may)
    }
  })

  it('lets a caller write a warehouse reader only if they may read all rows', async () => {
    const [owner] = owners as [Tester]
    const person = async (...roles: Role[]) => service.as(await service.identity.person(client, roles))
    const reading: Role = 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'
    const manager = await person('ROLE_MANAGE_SCHEMA', reading)
    const { body: schema } = await owner.asking.post('/schemas').send(schemaBody({ access: { publicAccess: 'READ' } }))
    const sent = { name: 'Dashboards', schemas: [{ id: schema.id }] }
    const { body: reader } = await manager.post('/warehouse-readers').send(sent).expect(201)
    const path = `/warehouse-readers/${reader.id}`
    for (const [asking, may] of [
      [await person('ROLE_SEE_SCHEMA'), ['read']],
      [await person('ROLE_MANAGE_SCHEMA'), ['read', 'delete']],
      [manager, ['read', 'write', 'delete']],
    ] as [Asking, string[]][]) {
      expect((await asking.get(path).expect(200)).body.may).toEqual(may)
      const stale = { 'If-Match': '"9999"' }
      const writes = [await asking.put(path).set(stale).send(sent), await asking.delete(path).set(stale)]
      expect(writes.map(({ status }) => status !== 403)).toEqual([may.includes('write'), may.includes('delete')])
    }
  })

  it('lets only the organisation that published a dataset write it', async () => {
    const { identity } = service
    const publisher = await identity.client({ domain: 'PUBLIC_DATASET_CATALOG' })
    const person = async (of: string, ...roles: Role[]) => service.as(await identity.person(of, roles))
    const owner = await person(publisher.id, 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG')
    const form = owner.post('/public-datasets?wait=0').type('multipart/form-data; boundary=x').send(datasetForm())
    const { body: dataset } = await form.expect(201)
    const all = ['read', 'write', 'delete']
    const path = `/public-datasets/${dataset.key}`
    const cases: [Asking, string[]][] = [
      [owner, all],
      [await person(publisher.id), ['read']],
      [await person(client, 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG'), ['read']],
      [await person(publisher.id, 'ROLE_SUPER_ADMIN'), all],
    ]
    for (const [asking, may] of cases) {
      const { body } = await asking.get(path).expect(200)
      expect(body.may).toEqual(may)
      const writes = await Promise.all([
        asking.put(path).set('If-Match', '"9999"').send({ key: dataset.key, name: 'Another name' }),
        asking.delete(path).set('If-Match', '"9999"'),
      ])
      const allowed = writes.map(({ status }) => status !== 403 && status !== 404)
      expect(allowed).toEqual([may.includes('write'), may.includes('delete')])
    }
  })

  it('is also in records inside other records, and absent for those of which the caller sees only the name', async () => {
    const [owner, other] = owners as [Tester, Tester]
    const { body: schema } = await owner.asking.post('/schemas').send(schemaBody()).expect(201)
    await (await service.stack.warehouses.open(client)).catalog.ensureSchema(schema.schemaName)
    const access = { publicAccess: 'READ' }
    const sent = viewBody(schema.id, 'select 1 as one', { access })
    const { body: view } = await owner.asking.post('/views').send(sent).expect(201)
    expect(view.schema.may).toEqual(['read', 'write', 'share', 'delete'])
    const { body: read } = await other.asking.get(`/views/${view.id}`).expect(200)
    expect(read.may).toEqual(['read'])
    expect(read.schema).toEqual({ id: schema.id, name: schema.name, schemaName: schema.schemaName })
  })

  it('is empty in the response to a caller who shares away their own access', async () => {
    const [owner, other] = owners as [Tester, Tester]
    const access = { userAccess: [{ id: other.id, access: 'READ_WRITE' }] }
    const { body: schema } = await owner.asking.post('/schemas').send(schemaBody({ access })).expect(201)
    const none = { publicAccess: 'NONE', userAccess: [], userGroupAccess: [] }
    const { body } = await other.asking.put(`/schemas/${schema.id}/access`).send(none).expect(200)
    expect(body[0].may).toEqual([])
    await other.asking.get(`/schemas/${schema.id}`).expect(404)
  })

  it('is accepted and ignored in a body', async () => {
    const [owner, other] = owners as [Tester, Tester]
    const { body: schema } = await owner.asking.post('/schemas').send(schemaBody({ access: { publicAccess: 'READ' } }))
    await owner.asking
      .put(`/schemas/${schema.id}`)
      .send({ ...schema, may: ['read'] })
      .expect(200)
    const { body } = await other.asking.get(`/schemas/${schema.id}`).expect(200)
    expect(body.may).toEqual(['read'])
  })
})
