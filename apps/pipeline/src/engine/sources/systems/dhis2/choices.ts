import type { Choice } from '../../reading.ts'
import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import type { Asking } from '../system.ts'

/** What there is to choose from, by the kind that people ask for. */
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

const most = 1_000

/** The first thousand by name, of those that have the query in it. */
export function choices(kind: string, { http, query }: Asking): Promise<Choice[]> | undefined {
  const plural = Object.hasOwn(plurals, kind) ? plurals[kind]! : undefined
  return plural === undefined ? undefined : named()

  async function named(): Promise<Choice[]> {
    const answer = await http.json(`api/${plural}`, {
      query: {
        fields: 'id,code,displayName~rename(name)',
        order: 'displayName:asc',
        page: 1,
        pageSize: most,
        filter: query ? `name:ilike:${query}` : undefined,
      },
    })
    return listIn(answer, 'DHIS2', plural).flatMap((one) => {
      const { id, code, name } = fieldsOf(one, 'DHIS2')
      const uid = textOf(id)
      return uid === undefined ? [] : [{ id: uid, code: textOf(code) ?? uid, name: textOf(name) ?? uid }]
    })
  }
}
