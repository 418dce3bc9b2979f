import type { Place } from './views.ts'
import type { AmbiguousTable } from './warehouse.ts'

/**
 * The first of the names without a schema that several of `schemas` have behind the first `preferred`, none of which has it; see
 * `Warehouse.ambiguousTable`.
 */
export function ambiguousAmong(
  names: Iterable<string>,
  there: readonly Place[],
  schemas: readonly string[],
  preferred: number,
): AmbiguousTable | undefined {
  const hasOf = (name: string, among: readonly string[]) =>
    there.filter((place) => place.name === name && among.includes(place.schema)).map(({ schema }) => schema)
  for (const name of new Set(names)) {
    const others = hasOf(name, schemas.slice(preferred))
    if (hasOf(name, schemas.slice(0, preferred)).length === 0 && others.length > 1)
      return { name, schemas: others.toSorted() }
  }
  return undefined
}
