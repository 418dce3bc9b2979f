import { randomUUID } from 'node:crypto'
import type { Place } from '../views.ts'
import type { KeptView } from './dependent-views.ts'
import type { Dialect } from './dialect.ts'
import { prepared } from './query.ts'
import { asked, hiddenName, keyOf } from './shapes.ts'

/** What stands in for what, by `keyOf`. */
export type Stands = ReadonlyMap<string, Place>

/**
 * Whether views would be taken over other tables: each is made under a hidden name, over what stands in for what it reads, and taken away.
 * Those below come first. Throws what the server says. Answers the ids of those that make sense.
 */
export async function demandSense(
  dialect: Dialect,
  views: readonly KeptView[],
  given: Stands,
): Promise<ReadonlySet<string>> {
  if (views.length === 0) return new Set()
  const stands = new Map(given)
  const made: Place[] = []
  await asked(dialect, { role: 'service' }, async (session) => {
    try {
      for (const view of views) {
        const { text } = await prepared(dialect, { text: view.mark.view.asked, schemas: [view.schema] }, { stands })
        const place = { schema: view.schema, name: hiddenName('view', randomUUID()) }
        made.push(place)
        for (const statement of dialect.changes.createView(place, text)) await session.execute(statement)
        stands.set(keyOf(view), place)
      }
    } finally {
      for (const place of made.toReversed()) await session.execute(dialect.changes.dropView(place)).catch(() => {})
    }
  })
  return new Set(views.map(({ id }) => id))
}

/** Views that came, or changed, after it was looked at whether they make sense. */
export const untried = (views: readonly KeptView[], tried: ReadonlySet<string>): boolean =>
  views.some(({ id }) => !tried.has(id))
