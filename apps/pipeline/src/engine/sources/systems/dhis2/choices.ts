import { choicesAsked, choicesIn, pluralOf } from '../../../dhis2/choices.ts'
import type { Choice } from '../../reading.ts'
import { strange } from '../http/answers.ts'
import type { Asking } from '../system.ts'

const most = 1_000

/** The first thousand by name, of those that have the query in it. */
export function choices(kind: string, { http, query }: Asking): Promise<Choice[]> | undefined {
  const plural = pluralOf(kind)
  return plural === undefined ? undefined : named(plural)

  async function named(plural: string): Promise<Choice[]> {
    const found = choicesIn(await http.json(`api/${plural}`, { query: choicesAsked(query, most) }), plural)
    if (!found) throw strange('DHIS2', `a list under "${plural}"`)
    return found
  }
}
