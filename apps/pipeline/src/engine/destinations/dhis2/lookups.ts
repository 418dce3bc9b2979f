import { choicesAsked, choicesIn, pluralOf } from '../../dhis2/choices.ts'
import type { Dhis2 } from './ask.ts'

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
  const plural = pluralOf(kind)
  if (!plural) return undefined
  return (choicesIn(await dhis2.get(plural, choicesAsked(query, most), signal), plural) ?? []).slice(0, most)
}
