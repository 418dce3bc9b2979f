import { startDhis2 } from './dhis2-server.ts'
import type { Account, Scene } from '../../../test/scene.ts'
import type { Request } from '../../../test/stand-in.ts'

const lookups = { 'data-elements': ['qrur9Dvnyt5', 'oZg33kd9taw', 'GieVkTxp4HH'], 'data-sets': ['BfMAe6Itzgt'] }

const secrets: Account['secrets'] = ({ SLUICE_DHIS2_TOKEN: authToken }) => ({ authToken: authToken! })

/** Events of programs, which have most of what a source can have. */
export const dhis2Events = (version: string): Scene => ({
  type: 'SOURCE_SYSTEM_C',
  system: `DHIS2 ${version} (events)`,
  without: {},
  columns: { id: 'event', name: 'name', extra: 'extra' },
  marked: 'deleted',
  table: '__visit',
  group: { table: '__notes', column: 'value' },
  lookups,
  async start() {
    const { apiSource, ...started } = await startDhis2(version)
    return {
      ...started,
      settings: { type: 'SOURCE_SYSTEM_C', apiSource, content: 'EVENTS', programs: ['lxAQ7Zs9VYR'] },
      isPage: ({ path }: Request) => path.endsWith('/tracker/events'),
    }
  },
  account: {
    variables: ['SLUICE_DHIS2_URL', 'SLUICE_DHIS2_TOKEN', 'SLUICE_DHIS2_PROGRAM'],
    settings: ({ SLUICE_DHIS2_URL: url, SLUICE_DHIS2_PROGRAM: program }) => ({
      type: 'SOURCE_SYSTEM_C',
      apiSource: { url },
      content: 'EVENTS',
      programs: [program],
    }),
    secrets,
  },
})

const same = 'Data values always have the same columns.'

/** Data values, which come as CSV and without pages. */
export const dhis2DataValues: Scene = {
  type: 'SOURCE_SYSTEM_C',
  system: 'DHIS2 2.38 (data values)',
  without: {
    groups: 'A data value contains no lists.',
    columnAdded: same,
    columnRetyped: same,
    page: 'The API has no pages of data values: they are asked by data set, period and organisation unit.',
  },
  columns: { id: 'org_unit', name: 'value' },
  marked: 'deleted',
  lookups,
  async start() {
    const { apiSource, ...started } = await startDhis2('2.38.7')
    const own = { content: 'DATA_VALUES', dataSets: ['BfMAe6Itzgt'], periods: ['202601'] }
    return {
      ...started,
      settings: { type: 'SOURCE_SYSTEM_C', apiSource, ...own },
      isPage: ({ path }: Request) => path.endsWith('/dataValueSets.csv'),
    }
  },
  account: {
    variables: ['SLUICE_DHIS2_URL', 'SLUICE_DHIS2_TOKEN', 'SLUICE_DHIS2_DATA_SET', 'SLUICE_DHIS2_PERIOD'],
    settings: ({ SLUICE_DHIS2_URL: url, SLUICE_DHIS2_DATA_SET: dataSet, SLUICE_DHIS2_PERIOD: period }) => ({
      type: 'SOURCE_SYSTEM_C',
      apiSource: { url },
      content: 'DATA_VALUES',
      dataSets: [dataSet],
      periods: [period],
    }),
    secrets,
  },
}
