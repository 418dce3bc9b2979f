import { type Person, People } from '../../../test/sample-records.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'

const username = 'RestUser'
const password = 'a:password ä'
const epoch = Date.UTC(2026, 0, 1)
const base = '/sormas-rest'

/** Answers as SORMAS does: plain lists, moments as milliseconds, pages that begin behind a moment and a uuid. */
async function start() {
  const people = new People()
  const server = await startStandInServer(answer)

  function answer({ path, headers }: StandInRequest): StandInResponse {
    const given = Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64').toString()
    if (given !== `${username}:${password}`) return { status: 401, body: 'Unauthorized' }
    if (path === `${base}/regions/all/0`) return { body: regions }
    if (path === `${base}/facilities/general/0`) return { body: [{ uuid: 'F-1', name: 'Clinic', externalID: '007' }] }
    const [, since, size, last] = /^\/sormas-rest\/cases\/all\/(\d+)\/(\d+)\/(.+)$/.exec(path) ?? []
    if (size !== undefined) return { body: cases(Number(since), Number(size), last!) }
    return { status: 404, body: { errorCode: 404, message: 'Not found' } }
  }

  /** Behind a moment; those of the same moment only behind a uuid, where there is one. */
  function cases(since: number, size: number, last: string): object[] {
    const behind = (person: Person) => {
      const changedAt = epoch + person.changedAt * 1000
      return changedAt > since || (changedAt === since && last !== 'NO_LAST_SYNCED_UUID' && uuid(person.id) > last)
    }
    // A crowd is in the order of its changes.
    const from = people.generated > 0 ? Math.max(1, Math.floor((since - epoch) / 1000)) : 1
    if (people.generated > 0) return people.page({ from, limit: size, wanted: behind }).map(report)
    const found = people.page({ wanted: behind })
    found.sort((one, other) => one.changedAt - other.changedAt || uuid(one.id).localeCompare(uuid(other.id)))
    return found.slice(0, size).map(report)
  }

  return {
    server,
    people,
    settings: {
      type: 'SOURCE_SYSTEM_I',
      apiSource: { url: `${server.url}${base}`, username },
      entities: ['CASES'],
    },
    secrets: { password },
    isPageRequest: ({ path }: StandInRequest) => path.startsWith(`${base}/cases/all/`),
  }
}

const regions = [
  { uuid: 'R-2', name: 'West', epidCode: 'W', externalID: null },
  { uuid: 'R-1', name: 'East', epidCode: 'E' },
]

const uuid = (id: number): string => `TEST01-CASE01-AAAAAA-${String(id).padStart(6, '0')}`

function report({ id, name, extra, children = [], createdAt, changedAt, isUnstorable }: Person): object {
  return {
    uuid: uuid(id),
    creationDate: epoch + createdAt * 1000,
    changeDate: epoch + changedAt * 1000,
    reportDate: epoch,
    disease: 'CHOLERA',
    externalID: `00${id}`,
    additionalDetails: isUnstorable ? `\u0000${name}` : name,
    ...(extra !== undefined && { caseAge: extra }),
    person: { uuid: `P-${id}`, caption: 'Doe JOHN' },
    responsibleRegion: { uuid: 'R-1', caption: 'East', externalId: null },
    symptoms: { uuid: `S-${id}`, fever: 'YES', onsetDate: 63_072_000_000, temperature: 38.5 },
    epiData: {
      uuid: `E-${id}`,
      exposures: children.map((description) => ({ uuid: 'X', description, startDate: epoch })),
    },
    caseOrigin: 'IN_COUNTRY',
    pseudonymized: false,
  }
}

export const sormas: ConnectorFixture = {
  type: 'SOURCE_SYSTEM_I',
  system: 'SORMAS',
  unsupportedRules: {},
  columns: { id: 'uuid', name: 'additional_details', extra: 'case_age' },
  table: '__cases',
  group: { table: '__epi_data_exposures', column: 'description' },
  lookups: { regions: ['R-1', 'R-2'], facilities: ['F-1'] },
  start,
  account: {
    variables: ['SLUICE_SORMAS_URL', 'SLUICE_SORMAS_USER', 'SLUICE_SORMAS_PASSWORD'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_I',
      apiSource: { url: values['SLUICE_SORMAS_URL'], username: values['SLUICE_SORMAS_USER'] },
      entities: ['CASES'],
    }),
    secrets: (values) => ({ password: values['SLUICE_SORMAS_PASSWORD']! }),
  },
}
