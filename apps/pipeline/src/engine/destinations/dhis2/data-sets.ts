import type { ImportOptions } from '../target.ts'
import type { Dhis2 } from './ask.ts'

/** From this release on, the values of a request have to belong to one data set. */
export const oneDataSetFrom = 43

/** The id of the data set that a data element, as the view names it, is reported in; undefined for one that is in none. */
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

/** Asks which data elements each data set has. Of several sets the one with the most elements is taken, so that few are needed. */
export async function dataSetsOf(dhis2: Dhis2, options: ImportOptions, signal: AbortSignal): Promise<DataSetOf> {
  const scheme = options.dataElementIdScheme ?? options.idScheme ?? 'UID'
  const named = nameBy(scheme)
  const element = /^attribute:/i.test(scheme) ? 'id,attributeValues[value,attribute[id]]' : 'id,code,name'
  const answer = (await dhis2.get(
    'dataSets',
    { fields: `id,dataSetElements[dataElement[${element}]]`, paging: 'false' },
    signal,
  )) as { dataSets?: unknown }
  const dataSets = (Array.isArray(answer.dataSets) ? answer.dataSets : []) as DataSet[]
  const smallestFirst = dataSets.toSorted(
    (one, other) =>
      (one.dataSetElements?.length ?? 0) - (other.dataSetElements?.length ?? 0) ||
      String(other.id).localeCompare(String(one.id)),
  )
  const found = new Map<string, string>()
  for (const { id, dataSetElements = [] } of smallestFirst)
    for (const { dataElement } of dataSetElements) {
      const name = dataElement && named(dataElement)
      if (id && name) found.set(name, id)
    }
  return (dataElement) => found.get(dataElement)
}

function nameBy(scheme: string): (dataElement: DataElement) => string | undefined {
  const [, attribute] = /^attribute:(\w+)$/i.exec(scheme) ?? []
  if (attribute)
    return ({ attributeValues = [] }) => attributeValues.find((one) => one.attribute?.id === attribute)?.value
  switch (scheme.toUpperCase()) {
    case 'CODE':
      return ({ code }) => code
    case 'NAME':
      return ({ name }) => name
    default:
      return ({ id }) => id
  }
}
