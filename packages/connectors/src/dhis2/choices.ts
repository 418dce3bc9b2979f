/** The kinds of DHIS2 objects that users can choose from, and their API names. */
const plurals: Readonly<Record<string, string>> = {
  'data-sets': 'dataSets',
  'data-elements': 'dataElements',
  'data-element-groups': 'dataElementGroups',
  indicators: 'indicators',
  'indicator-groups': 'indicatorGroups',
  programs: 'programs',
  'program-stages': 'programStages',
  'organisation-units': 'organisationUnits',
  'organisation-unit-groups': 'organisationUnitGroups',
  'organisation-unit-levels': 'organisationUnitLevels',
  'category-option-combos': 'categoryOptionCombos',
  attributes: 'attributes',
}

interface Choice {
  id: string
  code: string
  name: string
}

/** Returns the path of a kind below /api. Undefined for an unknown kind. */
export const pluralOf = (kind: string): string | undefined => (Object.hasOwn(plurals, kind) ? plurals[kind] : undefined)

/** Returns the parameters that request the first `most` objects by name whose name contains `query`. */
export const choicesAsked = (query: string | undefined, most: number) => ({
  fields: 'id,code,displayName~rename(name)',
  order: 'displayName:asc',
  page: '1',
  pageSize: String(most),
  filter: query ? `name:ilike:${query}` : undefined,
})

/** Returns the choices of a response. Undefined if it contains no such list. */
export function choicesIn(answer: unknown, plural: string): Choice[] | undefined {
  const list = (answer as Readonly<Record<string, unknown>> | null | undefined)?.[plural]
  if (!Array.isArray(list)) return undefined
  return (list as (Readonly<Record<string, unknown>> | null)[]).flatMap((one) => {
    const id = one?.['id']
    if (typeof id !== 'string' || id === '') return []
    return [{ id: text(id), code: text(one?.['code'] ?? id), name: text(one?.['name'] ?? id) }]
  })
}

const text = (value: unknown): string => String(value).slice(0, 300)
