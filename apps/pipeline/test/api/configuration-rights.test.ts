import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  type Configuration,
  type ConfigurationKind,
  configurationKinds,
  type ConfiguredObject,
} from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { everyManageRole } from './manage-roles.ts'
import { randomConfiguration, randomNumbers } from './random-configurations.ts'

const cases = Array.from({ length: drawCount({ short: 1, long: 20 }) }, (_one, index) => index)

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

const paths: Record<ConfigurationKind, string> = {
  schemas: '/schemas',
  variables: '/variables',
  dataQualityChecks: '/data-quality-checks',
  dataQualityCheckGroups: '/data-quality-check-groups',
  dataPipelines: '/data-pipelines',
  views: '/views',
  destinations: '/destinations',
  workflows: '/workflows',
}

type Ids = Record<ConfigurationKind, Map<string, string>>

async function readIds(boss: Asking): Promise<Ids> {
  const ids = {} as Ids
  for (const kind of configurationKinds) {
    const { body } = await boss.get(`${paths[kind]}?paging=false`).expect(200)
    ids[kind] = new Map((body.results ?? body).map(({ id, name }: { id: string; name: string }) => [name, id]))
  }
  return ids
}

const kindOfJob: Record<string, ConfigurationKind> = {
  DATA_PIPELINE_LOAD: 'dataPipelines',
  VIEW_REFRESH: 'views',
  DATA_QUALITY_CHECK_GROUP_RUN: 'dataQualityCheckGroups',
  DESTINATION_PUSH: 'destinations',
}

/** The body with which a client of the API would save the object alone. Access stays as it is. */
function bodyOf({ redacted: _redacted, access: _access, ...object }: any, ids: Ids): object {
  const reference = (kind: ConfigurationKind, { name }: { name: string }) => ({ id: ids[kind].get(name)! })
  return {
    ...object,
    ...(object.schema && { schema: reference('schemas', object.schema) }),
    ...(object.dataWarehouseTarget && {
      dataWarehouseTarget: {
        ...object.dataWarehouseTarget,
        schema: reference('schemas', object.dataWarehouseTarget.schema),
      },
    }),
    ...(object.dataQualityCheckGroup && {
      dataQualityCheckGroup: reference('dataQualityCheckGroups', object.dataQualityCheckGroup),
    }),
    ...(object.dataQualityChecks && {
      dataQualityChecks: object.dataQualityChecks.map((one: any) => reference('dataQualityChecks', one)),
    }),
    ...(object.viewSource && { viewSource: reference('views', object.viewSource) }),
    ...(object.steps && {
      steps: {
        ...object.steps,
        steps: object.steps.steps.map((step: any) => ({
          ...step,
          jobs: step.jobs.map(({ jobType, object: run }: any) => ({
            jobType,
            object: { uid: reference(kindOfJob[jobType]!, run).id },
          })),
        })),
      },
    }),
  }
}

it.each(cases)('a configuration saves what its user can save one by one, and nothing else: case %#', async (seed) => {
  const random = randomNumbers(5_000 + seed)
  const { identity } = service
  const { id: client } = await identity.client()
  const boss = service.as(await identity.person(client, ['ROLE_SUPER_ADMIN']))
  const all = everyManageRole.flatMap((role) => [role, role.replace('_MANAGE_', '_SEE_') as typeof role])
  const people = (await Promise.all(
    [0, 1, 2].map((index) =>
      identity.person(client, index === 0 ? [...everyManageRole] : all.filter(() => random(3) > 0)),
    ),
  )) as Person[]
  const group = randomBytes(6).toString('hex')
  await identity.namedGroup(client, group, people.slice(1, 2))
  const shared = { usernames: people.map(({ username }) => username), groupCodes: [group] }
  await service
    .as(people[0]!)
    .post('/configuration/apply')
    .send(withoutMissingTables(randomConfiguration(random, 'Any', shared)))
    .expect(200)
  let ids = await readIds(boss)
  const { body: stored } = (await boss.get('/configuration').expect(200)) as { body: Configuration }
  const outcomes = new Set<boolean>()
  for (const person of people)
    for (const kind of configurationKinds)
      for (const object of stored[kind] ?? []) {
        const asking = service.as(person)
        const { access: _access, redacted: _redacted, ...fields } = object
        const changed = { ...fields, ...repoint(random, kind, object, stored), ...describe(random, kind) }
        const isNew = random(4) === 0
        const sent = { ...changed, ...(isNew && newNames(kind, changed)) } as ConfiguredObject
        const planned = await asking.post('/configuration/plan').send({ [kind]: [sent] })
        const alone = isNew
          ? await asking.post(paths[kind]).send(bodyOf(sent, ids))
          : await asking.put(`${paths[kind]}/${ids[kind].get(object.name)}`).send(bodyOf(sent, ids))
        const saved = alone.status < 300
        outcomes.add(saved)
        const outcome = { kind, name: object.name, user: person.username, isNew, alone: alone.body.detail }
        expect({ ...outcome, planned: planned.status === 200, detail: planned.body.detail }).toEqual({
          ...outcome,
          planned: saved,
          detail: saved ? undefined : expect.any(String),
        })
        const { body: now } = await boss.get(`/configuration?kinds=${kind}`).expect(200)
        if (!saved && !isNew) expect(now[kind]).toContainEqual(object)
        if (saved && isNew) ids = await readIds(boss)
        stored[kind] = now[kind]
      }
  expect([...outcomes].toSorted()).toEqual([false, true])
})

/** A view over a missing table cannot be saved alone. */
const withoutMissingTables = (configuration: Record<string, any[]>) => ({
  ...configuration,
  views: configuration['views']!.map((view) => ({ ...view, query: 'select 1 as one' })),
})

const describe = (random: (below: number) => number, kind: ConfigurationKind) =>
  kind === 'variables' ? {} : { description: `changed ${random(1_000_000)}` }

/** Another object to refer to, at random. */
function repoint(
  random: (below: number) => number,
  kind: ConfigurationKind,
  object: any,
  stored: Configuration,
): object {
  const anyOf = (list: ConfigurationKind) => {
    const objects = stored[list] ?? []
    return { name: objects[random(objects.length)]!.name }
  }
  if (random(2)) return {}
  if (kind === 'dataPipelines')
    return {
      dataWarehouseTarget: { ...object.dataWarehouseTarget, schema: anyOf('schemas') },
      dataQualityCheckGroup: anyOf('dataQualityCheckGroups'),
    }
  if (kind === 'dataQualityCheckGroups') return { dataQualityChecks: [anyOf('dataQualityChecks')] }
  if (kind === 'destinations') return { viewSource: anyOf('views') }
  if (kind === 'workflows')
    return { steps: { steps: [{ jobs: [{ jobType: 'DATA_PIPELINE_LOAD', object: anyOf('dataPipelines') }] }] } }
  return {}
}

/** Makes another object of it. */
function newNames(kind: ConfigurationKind, object: any): object {
  const word = `n${randomBytes(5).toString('hex')}`
  return {
    name: word,
    ...(kind === 'schemas' && { schemaName: word }),
    ...(kind === 'variables' && { value: 'a value' }),
    ...(kind === 'dataQualityChecks' && { code: word }),
    ...(kind === 'views' && { dataWarehouseViewName: word }),
    ...(kind === 'dataPipelines' && { dataWarehouseTarget: { ...object.dataWarehouseTarget, tableName: word } }),
  }
}
