import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Lineage } from '@sluice/contracts'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { type LoadedPlace, loadedPlace, viewBody } from './view-fixtures.ts'
import { job, workflowBody } from './workflow-body.ts'

const roles = [
  'ROLE_MANAGE_SCHEMA',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_MANAGE_VIEW',
  'ROLE_MANAGE_WORKFLOW',
  'ROLE_MANAGE_DESTINATION',
  'ROLE_MANAGE_DATA_QUALITY_CHECK',
  'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
] as const

interface Named {
  id: string
  name: string
}

let service: Service
let client: string
let owner: Asking
let partner: Asking
let stranger: Asking
let person: Person
let place: LoadedPlace
let made: Record<'pipeline' | 'view' | 'over' | 'destination' | 'check' | 'group' | 'workflow' | 'cleaner', Named>
let qualified: string

const create = async (path: string, body: object) => (await owner.post(path).send(body).expect(201)).body
beforeAll(async () => {
  service = await startService()
  const { identity } = service
  const [here, there] = await Promise.all([identity.client(), identity.client()])
  client = here.id
  const people = await Promise.all([
    identity.person(here.id, [...roles]),
    identity.person(here.id, [...roles]),
    identity.person(there.id, [...roles]),
  ])
  person = people[1]!
  ;[owner, partner, stranger] = people.map((one) => service.as(one)) as [Asking, Asking, Asking]
  place = await loadedPlace(service, owner, client)
  const { body: pipeline } = await owner.get(`/data-pipelines/${place.pipeline}`).expect(200)
  const check = await create('/data-quality-checks', checkBody({ query: `select * from ${place.table} where id < 0` }))
  const group = await create('/data-quality-check-groups', groupBody({ dataQualityChecks: [{ id: check.id }] }))
  const view = await create('/views', viewBody(place.schema, `select id from ${place.schemaName}.${place.table}`))
  qualified = view.qualifiedDataWarehouseViewName
  const over = await create('/views', viewBody(place.schema, `select count(*) as n from ${qualified}`))
  const destination = await create('/destinations', {
    name: `Push ${view.name}`,
    disabled: false,
    runTrigger: 'NEVER',
    viewSource: { id: view.id },
    apiTokenTarget: { url: 'https://dhis2.example.org', authToken: 'd2pat_not_very_secret' },
  })
  const sqlStatements = [{ statement: `delete from t using (select id from ${qualified}) v` }]
  const cleaner = await create('/data-pipelines', pipelineBody(place.schema, { transformation: { sqlStatements } }))
  const gated = { ...pipeline, dataQualityCheckGroup: { id: group.id } }
  await owner.put(`/data-pipelines/${place.pipeline}`).send(gated).expect(200)
  const jobs = [job(place.pipeline), job(view.id, 'VIEW_REFRESH'), job(group.id, 'DATA_QUALITY_CHECK_GROUP_RUN')]
  const workflow = await create('/workflows', workflowBody([{ jobs }]))
  made = { pipeline, view, over, destination, check, group, workflow, cleaner }
})
afterAll(() => service?.stop())

const kinds = {
  pipeline: ['DATA_PIPELINE', '/data-pipelines'],
  cleaner: ['DATA_PIPELINE', '/data-pipelines'],
  view: ['VIEW', '/views'],
  over: ['VIEW', '/views'],
  destination: ['DESTINATION', '/destinations'],
  check: ['DATA_QUALITY_CHECK', '/data-quality-checks'],
  group: ['DATA_QUALITY_CHECK_GROUP', '/data-quality-check-groups'],
  workflow: ['WORKFLOW', '/workflows'],
} as const
type Part = keyof typeof kinds
const pathOf = (part: Part) => `${kinds[part][1]}/${made[part].id}`
const lineageOf = async (path: string, by = owner): Promise<Lineage> =>
  (await by.get(`${path}/lineage`).expect(200)).body
const nodes = (...parts: Part[]) => parts.map((part) => `${kinds[part][0]} ${made[part].name}`).toSorted()
const shown = (objects: Lineage['reads']) => objects.map(({ kind, name }) => `${kind} ${name}`).toSorted()

/** What each object reads. The reverse is what reads it. */
const edges: Record<Part, Part[]> = {
  pipeline: ['group'],
  cleaner: ['view'],
  view: ['pipeline'],
  over: ['view'],
  destination: ['view'],
  check: ['pipeline'],
  group: ['check'],
  workflow: ['pipeline', 'view', 'group'],
}
const parts = Object.keys(edges) as Part[]

describe('the lineage', () => {
  it.each(parts)('of a %s has what it reads, and what reads it', async (part) => {
    const { reads, readBy, hiddenReaders } = await lineageOf(pathOf(part))
    expect([shown(reads), shown(readBy), hiddenReaders]).toEqual([
      nodes(...edges[part]),
      nodes(...parts.filter((other) => edges[other].includes(part))),
      0,
    ])
  })

  it('names the tables and views in the warehouse', async () => {
    const { reads } = await lineageOf(pathOf('view'))
    expect(reads).toEqual([
      {
        kind: 'DATA_PIPELINE',
        id: place.pipeline,
        name: made.pipeline.name,
        schema: place.schemaName,
        table: place.table,
      },
    ])
  })

  it('of a schema has its pipelines and views', async () => {
    const { reads, readBy } = await lineageOf(`/schemas/${place.schema}`)
    expect([reads, shown(readBy)]).toEqual([[], nodes('pipeline', 'cleaner', 'view', 'over')])
  })

  it('of a table has its pipeline, and what reads it', async () => {
    const table = await lineageOf(`/schemas/${place.schema}/tables/${place.table}`)
    expect([shown(table.reads), shown(table.readBy)]).toEqual([nodes('pipeline'), nodes('view', 'check')])
    const view = await lineageOf(`/schemas/${place.schema}/tables/${qualified.split('.')[1]}`)
    expect([shown(view.reads), shown(view.readBy)]).toEqual([nodes('view'), nodes('over', 'cleaner')])
    await owner.get(`/schemas/${place.schema}/tables/nowhere/lineage`).expect(404)
  })

  it('has tables that Sluice did not create, and views from outside', async () => {
    await using load = await service.stack.inside(client)
    await load.query(`create table ${place.schemaName}.by_hand (id int)`)
    const query = `select h.id from ${place.schemaName}.by_hand h, ${place.schemaName}.${place.table}`
    const view = await create('/views', viewBody(place.schema, query))
    await load.query(`create view ${place.schemaName}.outside as select * from ${view.qualifiedDataWarehouseViewName}`)
    const { reads, readBy } = await lineageOf(`/views/${view.id}`)
    expect(shown(reads)).toEqual([...nodes('pipeline'), `TABLE ${place.schemaName}.by_hand`])
    expect(readBy).toEqual([{ kind: 'EXTERNAL_VIEW', name: expect.stringContaining('outside') }])
    const { body } = await owner.delete(`/views/${view.id}`).expect(409)
    expect(body.detail).toMatch(
      /^This view is used by the views that Sluice did not create ".*outside"\. Change or delete/,
    )
    await load.query(`drop view ${place.schemaName}.outside`)
    await owner.delete(`/views/${view.id}`).expect(204)
  })

  it('counts the readers that are not shared with the caller, and does not name them', async () => {
    const access = { userAccess: [{ id: person.id, access: 'READ_WRITE' }], userGroupAccess: [] }
    await owner
      .put(`${pathOf('view')}/access`)
      .send(access)
      .expect(200)
    await owner
      .put(`${pathOf('over')}/access`)
      .send(access)
      .expect(200)
    const { reads, readBy, hiddenReaders } = await lineageOf(pathOf('view'), partner)
    expect([shown(reads), shown(readBy), hiddenReaders]).toEqual([nodes('pipeline'), nodes('over'), 3])
    const { body } = await partner.delete(pathOf('view')).expect(409)
    expect(body.detail).toContain(`the views "${made.over.name}"`)
    for (const part of ['destination', 'workflow', 'cleaner'] as const)
      expect(body.detail).not.toContain(made[part].name)
    expect(body.detail).toContain('workflows that are not shared with you')
    for (const part of parts) await stranger.get(`${pathOf(part)}/lineage`).expect(404)
    await partner.get(`${pathOf('group')}/lineage`).expect(404)
  })
})

describe('a deletion', () => {
  it.each(parts)('of a %s is refused with the readers of its lineage, if it has some', async (part) => {
    const { readBy } = await lineageOf(pathOf(part))
    if (readBy.length === 0) return
    const { body } = await owner.delete(pathOf(part)).expect(409)
    // The check of the pipeline's own gate does not prevent the deletion.
    const preventing =
      part === 'pipeline' ? readBy.filter(({ kind }: { kind: string }) => kind !== 'DATA_QUALITY_CHECK') : readBy
    expect(preventing.length).toBeGreaterThan(0)
    for (const { name } of readBy)
      expect(body.detail.includes(`"${name}"`)).toBe(
        preventing.some((reader: { name: string }) => reader.name === name),
      )
    expect(body.detail).toMatch(/^This .* is used by .*\. Change or delete these objects first\.$/)
  })

  it('of everything is possible in the order of the lineage', async () => {
    const copy = await loadedPlace(service, owner, client)
    const view = await create('/views', viewBody(copy.schema, `select id from ${copy.schemaName}.${copy.table}`))
    const check = await create(
      '/data-quality-checks',
      checkBody({ query: `select 1 from ${copy.schemaName}.${copy.table}` }),
    )
    await owner.delete(`/data-pipelines/${copy.pipeline}`).expect(409)
    await owner.delete(`/views/${view.id}`).expect(204)
    const { body } = await owner.delete(`/data-pipelines/${copy.pipeline}`).expect(409)
    expect(body.detail).toContain(`the data quality checks "${check.name}"`)
    await owner.delete(`/data-quality-checks/${check.id}`).expect(204)
    await owner.delete(`/data-pipelines/${copy.pipeline}`).expect(204)
    await owner.delete(`/schemas/${copy.schema}`).expect(204)
  })
})

describe('a new name of a view', () => {
  it('is refused while SQL of checks or transformations has the old one, and not because of views', async () => {
    const { body: view } = await owner.get(pathOf('view')).expect(200)
    const renamed = { ...view, dataWarehouseViewName: 'renamed' }
    const { body } = await owner.put(pathOf('view')).send(renamed).expect(409)
    expect(body.errors[0]).toEqual({
      pointer: '/dataWarehouseViewName',
      detail: `SQL of the data pipelines "${made.cleaner.name}" uses the name of this view. Change that SQL first, or keep the name.`,
    })
    const free = await create('/views', viewBody(place.schema, 'select 1 as id'))
    const over = await create('/views', viewBody(place.schema, `select * from ${free.qualifiedDataWarehouseViewName}`))
    const { body: saved } = await owner
      .put(`/views/${free.id}`)
      .send({ ...free, dataWarehouseViewName: 'free_to_go' })
      .expect(200)
    expect(saved.dataWarehouseViewName).toBe('free_to_go')
    expect(shown((await lineageOf(`/views/${free.id}`)).readBy)).toEqual([`VIEW ${over.name}`])
  })
})
