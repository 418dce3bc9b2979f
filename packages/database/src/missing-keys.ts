import { sql, type Kysely } from 'kysely'
import { SealProblem, type KeyRing } from './key-ring.ts'
import { isUnavailable } from './problems.ts'
import type { SealedColumn } from './reseal.ts'

/** Milliseconds for which an answer holds: probes ask every few seconds. */
const rest = 30_000

/**
 * A check that throws `SealProblem` where a stored secret was sealed with a key that the ring does not hold. While the database is
 * away there is nothing to be said.
 */
export function missingKeysCheck(
  db: Kysely<any>,
  ring: KeyRing,
  columns: readonly SealedColumn[],
): () => Promise<void> {
  let last: { at: number; missing: readonly string[] } | undefined
  return async () => {
    if (!last || performance.now() - last.at > rest) {
      try {
        last = { at: performance.now(), missing: await missingKeys(db, ring, columns) }
      } catch (error) {
        if (isUnavailable(error)) return
        throw error
      }
    }
    const { missing } = last
    if (missing.length > 0)
      throw new SealProblem(
        `Stored secrets were sealed with ${missing.map((id) => `"${id}"`).join(', ')}: add these keys to SECRET_KEYS.`,
      )
  }
}

async function missingKeys(db: Kysely<any>, ring: KeyRing, columns: readonly SealedColumn[]): Promise<string[]> {
  const found = new Set<string>()
  for (const { table, column } of columns) {
    const { rows } = await sql<{ id: string }>`
      select distinct split_part(${sql.ref(column)}, '.', 1) as id from ${sql.table(table)}
      where split_part(${sql.ref(column)}, '.', 1) <> all(${[...ring.ids]}::text[])`.execute(db)
    for (const { id } of rows) found.add(id)
  }
  return [...found].toSorted()
}
