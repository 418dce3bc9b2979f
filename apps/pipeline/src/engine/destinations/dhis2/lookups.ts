import type { Dhis2 } from './ask.ts'

/** What there is to choose from, by the kind that people ask for. */
const plurals: Readonly<Record<string, string>> = {
  'data-sets': 'dataSets',
  'data-elements': 'dataElements',
  'data-element-groups': 'dataElementGroups',
  'organisation-units': 'organisationUnits',
  'organisation-unit-groups': 'organisationUnitGroups',
  'organisation-unit-levels': 'organisationUnitLevels',
  'category-option-combos': 'categoryOptionCombos',
  attributes: 'attributes',
  programs: 'programs',
  'program-stages': 'programStages',
  indicators: 'indicators',
  'indicator-groups': 'indicatorGroups',
}

export interface Choice {
  id: string
  code: string
  name: string
}

/** The first `most` by name, of those whose name has `query` in it. Undefined for a kind that there is not. */
export async function lookUp(
  dhis2: Dhis2,
  kind: string,
  { query, most }: { query: string; most: number },
  signal: AbortSignal,
): Promise<Choice[] | undefined> {
  const plural = Object.hasOwn(plurals, kind) ? plurals[kind]! : undefined
  if (!plural) return undefined
  const answer = (await dhis2.get(
    plural,
    {
      fields: 'id,code,displayName~rename(name)',
      order: 'displayName:asc',
      page: '1',
      pageSize: String(most),
      filter: query === '' ? undefined : `name:ilike:${query}`,
    },
    signal,
  )) as Readonly<Record<string, unknown>>
  const found = Array.isArray(answer[plural]) ? (answer[plural] as Record<string, unknown>[]) : []
  return found
    .filter((one) => typeof one?.['id'] === 'string')
    .slice(0, most)
    .map((one) => ({ id: text(one['id']), code: text(one['code'] ?? one['id']), name: text(one['name'] ?? one['id']) }))
}

const text = (value: unknown): string => String(value).slice(0, 300)
