import { parseRelease } from '@sluice/connectors/dhis2/dhis2-api'
import { DestinationProblem } from '../destination-problem.ts'
import type { Dhis2Api } from './dhis2-client.ts'
import { createOptionsQuery, parseOptions, findObjectPath } from '@sluice/connectors/dhis2/dhis2-api'
import type { ImportOptions } from '../push-target.ts'

/** The version of a DHIS2 server, and the user that it authenticated. */
export interface Dhis2System {
  /** The full version, such as `2.41.3`. */
  version: string
  /** The release, such as 41; 0 if it is unknown. */
  release: number
  username: string
  /** The authorities (rights) of the user; undefined if the server does not return them. */
  authorities: ReadonlySet<string> | undefined
}

/**
 * Reads the version and the user of a DHIS2 server. Throws `DestinationProblem`, with the code OTHER_PROTOCOL if the
 * server is not DHIS2.
 */
export async function readSystem(dhis2: Dhis2Api, signal: AbortSignal): Promise<Dhis2System> {
  const currentUser = asFields(await dhis2.get('me', { fields: 'id,username,authorities' }, signal))
  const systemInfo = asFields(await dhis2.get('system/info', {}, signal))
  const { version } = systemInfo
  if (typeof currentUser['id'] !== 'string' || typeof version !== 'string')
    throw new DestinationProblem(
      'OTHER_PROTOCOL',
      'The server at this address is not DHIS2: it returns no user and no version. Check the address.',
    )
  const authorities = Array.isArray(currentUser['authorities'])
    ? new Set(currentUser['authorities'].map(String))
    : undefined
  return {
    version: dhis2.redact(version).slice(0, 50),
    release: parseRelease(version),
    username: dhis2.redact(typeof currentUser['username'] === 'string' ? currentUser['username'] : '').slice(0, 255),
    authorities,
  }
}

export const canImportValues = ({ authorities }: Dhis2System): boolean =>
  !authorities || authorities.has('ALL') || authorities.has('F_DATAVALUE_ADD')

const asFields = (response: unknown): Readonly<Record<string, unknown>> =>
  typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {}

export interface Choice {
  id: string
  code: string
  name: string
}

/**
 * Returns the first `limit` choices with `query` in their names, sorted by name. Returns undefined for an unknown
 * kind of choice.
 */
export async function searchOptions(
  dhis2: Dhis2Api,
  kind: string,
  { query, limit }: { query: string; limit: number },
  signal: AbortSignal,
): Promise<Choice[] | undefined> {
  const objectPath = findObjectPath(kind)
  if (!objectPath) return undefined
  const response = await dhis2.get(objectPath, createOptionsQuery(query, limit), signal)
  const choices = parseOptions(response, objectPath) ?? []
  return choices.slice(0, limit)
}

/** The first release of DHIS2 in which all values of a request must belong to one data set. */
export const oneDataSetRelease = 43

/**
 * Returns the id of the data set that contains a data element. `dataElement` is the identifier that the view uses.
 * Returns undefined if no data set contains it.
 */
export type DataSetOf = (dataElement: string) => string | undefined

interface DataElement {
  id?: string
  code?: string
  name?: string
  attributeValues?: { value?: string; attribute?: { id?: string } }[]
}

interface DataSet {
  id?: string
  dataSetElements?: { dataElement?: DataElement }[]
}

/**
 * Reads all data sets. Returns a function that finds the data set of a data element. If several data sets contain the
 * element, it chooses the largest one, so that few requests are needed.
 */
export async function readDataSets(dhis2: Dhis2Api, options: ImportOptions, signal: AbortSignal): Promise<DataSetOf> {
  const scheme = options.dataElementIdScheme ?? options.idScheme ?? 'UID'
  const identifierOf = createIdentifierReader(scheme)
  const elementFields = /^attribute:/i.test(scheme) ? 'id,attributeValues[value,attribute[id]]' : 'id,code,name'
  const dataSetResponse = (await dhis2.get(
    'dataSets',
    { fields: `id,dataSetElements[dataElement[${elementFields}]]`, paging: 'false' },
    signal,
  )) as { dataSets?: unknown }
  const dataSets = (Array.isArray(dataSetResponse.dataSets) ? dataSetResponse.dataSets : []) as DataSet[]
  // Sort equal sizes by id, so that the choice does not depend on the order of the response.
  const largestFirst = dataSets.toSorted(
    (one, other) => countElements(other) - countElements(one) || String(one.id).localeCompare(String(other.id)),
  )
  const dataSetByElement = new Map<string, string>()
  for (const { id, dataSetElements = [] } of largestFirst)
    for (const { dataElement } of dataSetElements) {
      const identifier = dataElement && identifierOf(dataElement)
      if (id && identifier && !dataSetByElement.has(identifier)) dataSetByElement.set(identifier, id)
    }
  return (dataElement) => dataSetByElement.get(dataElement)
}

const countElements = ({ dataSetElements = [] }: DataSet): number => dataSetElements.length

/** Returns a function that reads the identifier of a data element in an id scheme of DHIS2. */
function createIdentifierReader(scheme: string): (dataElement: DataElement) => string | undefined {
  const [, attribute] = /^attribute:(\w+)$/i.exec(scheme) ?? []
  if (attribute)
    return ({ attributeValues = [] }) =>
      attributeValues.find((attributeValue) => attributeValue.attribute?.id === attribute)?.value
  switch (scheme.toUpperCase()) {
    case 'CODE':
      return ({ code }) => code
    case 'NAME':
      return ({ name }) => name
    default:
      return ({ id }) => id
  }
}
