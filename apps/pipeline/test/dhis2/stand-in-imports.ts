interface Value {
  dataElement: string
  period: string
  orgUnit: string
  categoryOptionCombo?: string
  attributeOptionCombo?: string
  value?: string
  comment?: string
  deleted?: boolean
}

export interface Sent {
  dataSet?: string
  dataValues: Value[]
}

/** By what a value is about: what is stored. */
export type Stored = Map<string, string>

export const dataElements: Record<string, { code?: string; name: string; numeric: boolean }> = {
  f7n9E0hX8qk: { code: 'DE_ANC1', name: 'ANC 1st visit', numeric: true },
  fbfJHSPpUQD: { code: 'DE_ANC2', name: 'ANC 2nd visit', numeric: true },
  UOlfIjgN8X6: { name: 'Remarks', numeric: false },
}
export const dataSets: Record<string, string[]> = {
  BfMAe6Itzgt: ['f7n9E0hX8qk', 'fbfJHSPpUQD'],
  lyLU2wR22tC: ['UOlfIjgN8X6'],
}
/** Every organisation unit is known but those that begin so. */
const unknown = /^missing/

interface Importing {
  query: URLSearchParams
  version: string
  stored: Stored
}

/** What DHIS2 does with a data value set, and says of it: as its versions differ. */
export function importValues({ dataSet, dataValues }: Sent, { query, version, stored }: Importing) {
  const release = Number(version.split('.')[1])
  const counts = { imported: 0, updated: 0, ignored: 0, deleted: 0 }
  const rejected: number[] = []
  const problems: { value: Value; index: number; code: string; property: string; object: string; text: string }[] = []
  const byCode = (query.get('dataElementIdScheme') ?? query.get('idScheme')) === 'CODE'
  const elementOf = (given: string) =>
    byCode ? Object.keys(dataElements).find((id) => dataElements[id]!.code === given) : given
  if (release >= 43 && !dataSet)
    return answer(release, 'ERROR', counts, [{ value: 'Data set is required', errorCode: 'E8003' }], [])

  dataValues.forEach((value, index) => {
    const element = elementOf(value.dataElement)
    const type = element === undefined ? undefined : dataElements[element]
    const wrong = !type
      ? {
          code: 'E7610',
          property: 'dataElement',
          object: value.dataElement,
          text: 'Data element not found or not accessible',
        }
      : unknown.test(value.orgUnit)
        ? {
            code: 'E7612',
            property: 'orgUnit',
            object: value.orgUnit,
            text: `Organisation unit not found: ${value.orgUnit}`,
          }
        : type.numeric && !value.deleted && Number.isNaN(Number(value.value))
          ? {
              code: 'E7619',
              property: 'value',
              object: release < 38 ? value.value! : value.dataElement,
              text: 'Data value is not numeric',
            }
          : undefined
    if (wrong) {
      counts.ignored += 1
      rejected.push(index)
      problems.push({ value, index, ...wrong })
      return
    }
    const key = [element, value.period, value.orgUnit, value.categoryOptionCombo, value.attributeOptionCombo].join('|')
    const dry = query.get('dryRun') === 'true'
    if (value.deleted) counts.deleted += 1
    else if (release >= 43 || stored.has(key)) counts.updated += 1
    else counts.imported += 1
    if (dry) return
    if (value.deleted) stored.delete(key)
    else stored.set(key, value.value!)
  })
  const conflicts = release < 38 ? bare(problems) : indexed(problems)
  return answer(release, conflicts.length > 0 ? 'WARNING' : 'SUCCESS', counts, conflicts, rejected)
}

type Problems = { index: number; code: string; property: string; object: string; text: string }[]

/** Before 2.38: an object and a sentence, each once. */
const bare = (problems: Problems) => [
  ...new Map(problems.map(({ object, text }) => [`${object}|${text}`, { object, value: text }])).values(),
]

/** From 2.38 on: with the places of all values that it is about. */
const indexed = (problems: Problems) =>
  [...Map.groupBy(problems, ({ code, object }) => `${code}|${object}`).values()].map((same) => ({
    object: same[0]!.object,
    objects: { [same[0]!.property]: same[0]!.object },
    value: same[0]!.text,
    errorCode: same[0]!.code,
    property: same[0]!.property,
    indexes: same.map(({ index }) => index),
  }))

function answer(release: number, status: string, importCount: object, conflicts: object[], rejectedIndexes: number[]) {
  const summary = {
    responseType: 'ImportSummary',
    status,
    description: status === 'ERROR' ? 'The import process failed' : 'Import process completed successfully',
    importCount,
    conflicts,
    ...(release >= 38 && { rejectedIndexes }),
    dataSetComplete: 'false',
  }
  // A conflict is the status of the request until 2.42, although the rest is stored.
  const code = status === 'ERROR' || (status === 'WARNING' && release < 43) ? 409 : 200
  if (release < 38) return { status: code, body: summary }
  const message =
    code === 200 ? 'Import was successful.' : 'One more conflicts encountered, please check import summary.'
  return {
    status: code,
    body: {
      httpStatus: code === 200 ? 'OK' : 'Conflict',
      httpStatusCode: code,
      status: status === 'SUCCESS' ? 'OK' : status,
      message,
      response: summary,
    },
  }
}
