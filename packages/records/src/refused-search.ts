import { problems } from '@sluice/http'
import { InvalidSearch } from './search/violations.ts'

/**
 * What to throw in place of an error of `searchPlan`: a 400 for an `InvalidSearch`, anything else as it is. `byQuery`: the
 * search came as query parameters, where pages are not asked for inside `paging`.
 */
export function refusedSearch(error: unknown, byQuery: boolean): unknown {
  if (!(error instanceof InvalidSearch)) return error
  const { violations } = error
  if (!byQuery) return problems.malformed(violations)
  return problems.malformed(
    violations.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/paging\//, '/'), detail })),
  )
}
