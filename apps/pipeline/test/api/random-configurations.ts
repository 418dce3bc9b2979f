import type { PipelineType } from '@sluice/contracts'
import { samples, withSecrets } from './pipeline-type-samples.ts'

/** mulberry32: the same configurations on every machine. */
export function randomNumbers(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

type Random = ReturnType<typeof randomNumbers>
type Json = Record<string, any>

interface Shared {
  usernames: string[]
  groupCodes: string[]
}

/** Generates configurations of all kinds of objects. Names start with `prefix`. */
export function randomConfiguration(random: Random, prefix: string, { usernames, groupCodes }: Shared) {
  const oneOf = <T>(list: readonly T[]): T => list[random(list.length)]!
  const some = <T>(list: readonly T[]): T[] => list.filter(() => random(3) === 0)
  const maybe = (field: string, make: () => unknown): Json => (random(2) ? { [field]: make() } : {})
  const many = (most: number) => Array.from({ length: 1 + random(most) }, (_one, index) => index)
  const text = () => oneOf(['A', 'Été', '日本', 'quote " and \\', 'two\nlines', "it's", '${LIMIT}', '100 %'])
  const named = (name: string): Json => ({
    name,
    ...maybe('description', text),
    ...maybe('translations', () => [{ locale: oneOf(['fr', 'pt-BR']), property: 'name', value: text() }]),
  })
  const grants = (list: string[], field: string) =>
    some(list).map((one) => ({ [field]: one, access: oneOf(['READ', 'READ_WRITE']) }))
  const access = () =>
    maybe('access', () => ({
      publicAccess: oneOf(['NONE', 'READ', 'READ_WRITE']),
      userAccess: grants(usernames, 'username'),
      userGroupAccess: grants(groupCodes, 'code'),
    }))
  const schedule = (): Json => ({
    disabled: random(2) === 0,
    ...oneOf([
      { runTrigger: 'NEVER' },
      { runTrigger: 'EVERY_NIGHT_RANDOM' },
      { runTrigger: 'CUSTOM', cronExpression: '0 6 * * 1-5' },
      { runTrigger: 'NEVER', continuouslyUpdated: true, continuousUpdateInterval: 15, fullRefreshInterval: 24 },
    ]),
  })
  const tags = () => maybe('tags', () => ['a', 'b'])
  const labelled = (name: string): Json => ({
    ...named(name),
    shortName: text().split('\n')[0],
    ...maybe('labels', () => [{ key: 'severity', value: oneOf(['high', '']) }]),
  })

  const schemas = many(3).map(
    (index): Json => ({
      ...named(`${prefix} schema ${index}`),
      ...tags(),
      ...access(),
      permanent: random(2) === 0,
      providerSchema: 'SQL_DATABASE_D',
    }),
  )
  const variables = many(3).map((index): Json => {
    const secured = random(2) === 0
    return { name: `${prefix} variable ${index}`, secured, value: secured ? 'a secret value' : text() }
  })
  const dataQualityChecks = many(4).map(
    (index): Json => ({
      ...labelled(`${prefix} check ${index}`),
      ...access(),
      code: random(2) ? `${prefix}-${index}` : '',
      query: oneOf(['select 1 where false', 'select ${LIMIT}']),
    }),
  )
  const dataQualityCheckGroups = many(2).map(
    (index): Json => ({
      ...labelled(`${prefix} group ${index}`),
      ...access(),
      dataQualityChecks: some(dataQualityChecks).map(({ name }) => ({ name })),
    }),
  )
  const schema = () => ({ name: oneOf(schemas)['name'] as string })
  const types = Object.keys(samples) as (keyof typeof samples)[]
  const dataPipelines = many(6).map((index): Json => {
    const type = oneOf(types) satisfies PipelineType
    return {
      ...named(`${prefix} pipeline ${index}`),
      ...tags(),
      ...access(),
      ...schedule(),
      type,
      ...withSecrets(samples[type], random(4) ? 'a secret value' : null),
      dataWarehouseTarget: { schema: schema(), ...maybe('tableName', () => `t_${index}`) },
      ...maybe('owner', () => 'Statistics'),
      ...maybe('dataQualityCheckGroup', () => ({ name: oneOf(dataQualityCheckGroups)['name'] })),
      ...maybe('transformation', () => ({ sqlStatements: [{ statement: 'select 1' }] })),
      ...maybe('schemaChanges', () => oneOf(['EVOLVE', 'FAIL'])),
      ...maybe('anonymousAccess', () => ({ metadata: true, data: random(2) === 0 })),
    }
  })
  const views = many(4).map(
    (index): Json => ({
      ...named(`${prefix} view ${index}`),
      ...tags(),
      ...access(),
      ...schedule(),
      schema: schema(),
      query: oneOf(['select 1 as one', 'select * from missing', "select 'from v_0' as text"]),
      materialized: random(2) === 0,
      ...maybe('dataWarehouseViewName', () => `v_${index}`),
      ...maybe('status', () => ({ visualizationId: 7, visualizationHref: 'https://example.org/7' })),
      ...maybe('anonymousAccess', () => ({ data: true })),
    }),
  )
  const target = (): Json =>
    oneOf([
      { apiTokenTarget: { url: 'https://dhis2.example.org', authToken: 'd2pat_secret' } },
      { apiTarget: { url: 'https://dhis2.example.org/dhis', username: 'importer', password: 'a secret value' } },
    ])
  const destinations = many(3).map(
    (index): Json => ({
      ...named(`${prefix} destination ${index}`),
      ...access(),
      ...schedule(),
      ...target(),
      viewSource: { name: oneOf(views)['name'] },
      ...maybe('importOptions', () => ({ idScheme: 'CODE', dryRun: true })),
    }),
  )
  const jobs = () =>
    [
      ...some(dataPipelines).map(({ name }) => ({ jobType: 'DATA_PIPELINE_LOAD', object: { name } })),
      ...some(views).map(({ name }) => ({ jobType: 'VIEW_REFRESH', object: { name } })),
      ...some(dataQualityCheckGroups).map(({ name }) => ({
        jobType: 'DATA_QUALITY_CHECK_GROUP_RUN',
        object: { name },
      })),
      ...some(destinations).map(({ name }) => ({ jobType: 'DESTINATION_PUSH', object: { name } })),
    ].slice(0, 50)
  const workflows = many(2).map(
    (index): Json => ({
      ...named(`${prefix} workflow ${index}`),
      ...access(),
      ...schedule(),
      continuouslyUpdated: false,
      runTrigger: 'EVERY_DAY_2AM',
      steps: {
        ...maybe('errorStrategy', () => 'CONTINUE'),
        steps: many(3).map(() => ({
          ...maybe('executionMode', () => 'PARALLEL'),
          ...maybe('delayAfter', () => 3),
          ...maybe('disabled', () => true),
          jobs: jobs(),
        })),
      },
    }),
  )
  return {
    schemas,
    variables,
    dataQualityChecks,
    dataQualityCheckGroups,
    dataPipelines,
    views,
    destinations,
    workflows,
  } as Record<string, Json[]>
}
