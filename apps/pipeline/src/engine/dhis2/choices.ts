/** What DHIS2 has to choose from, by the kind that people ask for. */
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

/** Where the choices of a kind are, below /api. Undefined for a kind that there is not. */
export const pluralOf = (kind: string): string | undefined => (Object.hasOwn(plurals, kind) ? plurals[kind] : undefined)

/** Asks for the first so many by name, of those that have `query` in it. */
export const choicesAsked = (query: string | undefined, most: number) => ({
  fields: 'id,code,displayName~rename(name)',
  order: 'displayName:asc',
  page: '1',
  pageSize: String(most),
  filter: query ? `name:ilike:${query}` : undefined,
})

/** What of an answer can be chosen. Undefined where it holds no such list. */
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
