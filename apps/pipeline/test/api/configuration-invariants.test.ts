import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Configuration, configurationKinds, createContractChecker, ExportedConfiguration } from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { everyManageRole } from './manage-roles.ts'
import { randomConfiguration, randomNumbers } from './random-configurations.ts'

const cases = Array.from({ length: drawCount({ short: 2, long: 40 }) }, (_one, index) => index)

/** Two installations of the pipeline service with databases and warehouses of their own. */
let [here, there]: Service[] = []
beforeAll(async () => {
  ;[here, there] = await Promise.all([startService(), startService()])
})
afterAll(async () => {
  await here?.stop()
  await there?.stop()
})

/** An organisation that both installations have, with users and groups to share objects with. */
async function createOrganisation() {
  const { identity } = here!
  const { id } = await identity.client()
  const people = (await Promise.all([1, 2].map(() => identity.person(id, [...everyManageRole])))) as [Person, Person]
  const [owner] = people
  const group = randomBytes(6).toString('hex')
  await identity.namedGroup(id, group, people)
  return {
    here: here!.as(owner),
    there: there!.as(owner),
    shared: { usernames: people.map(({ username }) => username), groupCodes: [group] },
  }
}

const exportOf = async (caller: Asking): Promise<Configuration> => {
  const { body } = await caller.get('/configuration').expect(200)
  expect(createContractChecker(ExportedConfiguration)(body)).toEqual({ value: body })
  return body
}
const send = async (caller: Asking, action: 'plan' | 'apply', configuration: object, query = '') => {
  const { status, body } = await caller.post(`/configuration/${action}${query}`).send(configuration)
  expect([status, body.errors]).toEqual([200, undefined])
  return body
}
const unchanged = { created: 0, updated: 0, message: expect.stringMatching(/^No changes\./) }
const versionsOf = async ({ stack }: Service) => {
  const tables = ['schemas', 'variables', 'data_pipelines', 'views', 'destinations', 'workflows'] as const
  return Promise.all(
    tables.map((table) => stack.db.selectFrom(table).select(['uid', 'version']).orderBy('id').execute()),
  )
}

it.each(cases)(
  'an export applies to an empty installation, and a plan of it there has no changes: case %#',
  async (seed) => {
    const organisation = await createOrganisation()
    const given = randomConfiguration(randomNumbers(seed), 'Any', organisation.shared)
    const total = Object.values(given).reduce((sum, list) => sum + list.length, 0)

    const plan = await send(organisation.here, 'plan', given)
    expect(plan).toMatchObject({ applied: false, created: total, updated: 0, unchanged: 0, missing: 0 })
    expect(Object.values(await exportOf(organisation.here)).flat()).toEqual([])
    const applied = await send(organisation.here, 'apply', given, `?plan=${plan.plan}`)
    expect(applied).toMatchObject({ applied: true, created: total, plan: plan.plan, pending: given['views']!.length })
    const versions = await versionsOf(here!)
    expect(await send(organisation.here, 'plan', given)).toMatchObject({ ...unchanged, unchanged: total, missing: 0 })
    expect(await send(organisation.here, 'apply', given)).toMatchObject(unchanged)
    expect(await versionsOf(here!)).toEqual(versions)

    const exported = await exportOf(organisation.here)
    expect(JSON.stringify(exported)).not.toMatch(/a secret value|d2pat_secret/)
    expect(await send(organisation.here, 'plan', exported)).toMatchObject({ ...unchanged, missing: 0 })

    const secrets = Object.values(exported).flatMap((list) => list.filter(({ redacted }) => redacted !== undefined))
    const moved = await send(organisation.there, 'apply', exported)
    expect(moved).toMatchObject({ created: total, missing: secrets.length })
    expect(await send(organisation.there, 'plan', exported)).toMatchObject({ ...unchanged, missing: secrets.length })
    const withoutRedacted = (configuration: Configuration) =>
      JSON.parse(JSON.stringify(configuration, (name, value: unknown) => (name === 'redacted' ? undefined : value)))
    expect(withoutRedacted(await exportOf(organisation.there))).toEqual(withoutRedacted(exported))

    // The secrets can follow.
    await send(organisation.there, 'apply', given)
    expect(await exportOf(organisation.there)).toEqual(exported)
  },
)

it.each(cases)('a plan shows what applying then does, and applying leads to the given state: case %#', async (seed) => {
  const organisation = await createOrganisation()
  const [first, second] = [1_000 + seed, 2_000 + seed].map((one) =>
    randomConfiguration(randomNumbers(one), 'Any', organisation.shared),
  ) as [Configuration, Configuration]
  await send(organisation.here, 'apply', first)
  await send(organisation.there, 'apply', second)
  // Types of pipelines and warehouse names are fixed.
  const changes = withFixedFields(first, second)
  const before = [await exportOf(organisation.here), await versionsOf(here!)]
  const plan = await send(organisation.here, 'plan', changes)
  expect([await exportOf(organisation.here), await versionsOf(here!)]).toEqual(before)
  const applied = await send(organisation.here, 'apply', changes)
  const essence = ({ changes }: { changes: object[] }) => changes.map((change) => ({ ...change, id: undefined }))
  expect(essence(applied)).toEqual(essence(plan))
  expect(applied.plan).toBe(plan.plan)
  expect(await send(organisation.here, 'plan', changes)).toMatchObject(unchanged)

  const ids = applied.changes
    .filter(({ result }: { result: string }) => result !== 'UNCHANGED')
    .map(({ id }: { id: string }) => id)
  const audited = here!.stack.db.selectFrom('audit').select('object').where('object', 'in', ids)
  const rows = await audited.where('operation', '=', 'configuration.apply').execute()
  expect(new Set(rows.map(({ object }) => object))).toEqual(new Set(ids))
})

/** The second configuration, with those fields of the first that cannot change. */
function withFixedFields(first: Configuration, second: Configuration): Configuration {
  return Object.fromEntries(
    configurationKinds.map((kind) => [
      kind,
      (second[kind] ?? []).map((object) => {
        const stored = first[kind]?.find(({ name }) => name === object.name)
        if (kind === 'dataPipelines' && stored) return { ...stored, description: 'changed' }
        if (kind === 'views' && stored) return { ...object, dataWarehouseViewName: stored['dataWarehouseViewName'] }
        return object
      }),
    ]),
  )
}
