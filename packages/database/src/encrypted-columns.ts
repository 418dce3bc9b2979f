import { type Kysely, sql } from 'kysely'
import { type KeyRing, SealProblem } from './key-ring.ts'
import { isUnavailable } from './problems.ts'

/**
 * A column with sealed (encrypted) texts. Each value was sealed for the purpose `table.column:<key>`; the key is
 * that of its row.
 */
export interface SealedColumn {
  table: string
  /** The key column, which is unique and not null. */
  key: string
  column: string
}

export interface ResealResult {
  /** The column as `table.column`. */
  column: string
  /** The number of values that were resealed with the newest key. */
  resealed: number
  /** One sentence per value that could not be decrypted. These values stay unchanged. */
  unreadable: string[]
  /**
   * The number of values that still need an older key: values that cannot be decrypted, and values that other processes
   * wrote with an older key.
   */
  left: number
}

const batchSize = 500

/**
 * Decrypts and reseals every value of a column that does not use the newest key. Services may run at the same time: a
 * value that they have changed is not overwritten. Can be stopped and run again.
 */
export async function resealColumn(db: Kysely<any>, ring: KeyRing, sealed: SealedColumn): Promise<ResealResult> {
  const { table, key, column } = sealed
  const isOlderKey = sql`split_part(${sql.ref(column)}, '.', 1) <> ${ring.newest}`
  const outcome: ResealResult = { column: `${table}.${column}`, resealed: 0, unreadable: [], left: 0 }

  let lastKey: string | undefined
  for (;;) {
    const afterLastKey = lastKey === undefined ? sql`` : sql`and ${sql.ref(key)} > ${lastKey}`
    const { rows } = await sql<{ key: string; value: string }>`
      select ${sql.ref(key)}::text as key, ${sql.ref(column)} as value from ${sql.table(table)}
      where ${isOlderKey} ${afterLastKey} order by ${sql.ref(key)} limit ${batchSize}`.execute(db)
    for (const row of rows) {
      const resealedValue = resealValue(ring, row.value, `${table}.${column}:${row.key}`)
      if (resealedValue instanceof SealProblem) outcome.unreadable.push(resealedValue.message)
      else if (await replaceValue(db, sealed, row, resealedValue)) outcome.resealed += 1
    }
    if (rows.length < batchSize) break
    lastKey = rows.at(-1)!.key
  }

  const { rows } = await sql<{ left: number }>`
    select count(*) as left from ${sql.table(table)} where ${isOlderKey}`.execute(db)
  return { ...outcome, left: rows[0]!.left }
}

function resealValue(ring: KeyRing, value: string, purpose: string): string | SealProblem {
  try {
    return ring.seal(ring.open(value, purpose), purpose)
  } catch (error) {
    if (error instanceof SealProblem) return error
    throw error
  }
}

/** Replaces the value, unless it was changed since it was read. Returns true if it was replaced. */
async function replaceValue(
  db: Kysely<any>,
  { table, key, column }: SealedColumn,
  row: { key: string; value: string },
  value: string,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${value}
    where ${sql.ref(key)} = ${row.key} and ${sql.ref(column)} = ${row.value}`.execute(db)
  return numAffectedRows === 1n
}

/** Reseals all columns and reports the results. Returns false if an older key is still needed. */
export async function resealAll(
  db: Kysely<any>,
  ring: KeyRing,
  columns: readonly SealedColumn[],
  writeLine: (line: string) => void,
): Promise<boolean> {
  let remaining = 0
  for (const sealed of columns) {
    const { column, resealed, unreadable, left } = await resealColumn(db, ring, sealed)
    writeLine(`${column}: ${resealed} resealed${left > 0 ? `, ${left} left` : ''}`)
    for (const sentence of unreadable) writeLine(`  ${sentence}`)
    remaining += left
  }
  writeLine(
    remaining === 0
      ? `Everything is sealed with "${ring.newest}": older keys can be taken out of SECRET_KEYS.`
      : `Keep the older keys: ${remaining} values still need them. Once every process lists "${ring.newest}" first, run this again.`,
  )
  return remaining === 0
}

/** Milliseconds for which a result is cached, because probes run every few seconds. */
const resultTtlMs = 30_000

/**
 * Returns a health check that throws `SealProblem` if a stored secret needs a key that is not configured. It passes
 * while the database is unavailable.
 */
export function missingKeysCheck(
  db: Kysely<any>,
  ring: KeyRing,
  columns: readonly SealedColumn[],
): () => Promise<void> {
  let last: { at: number; missing: readonly string[] } | undefined
  return async () => {
    if (!last || performance.now() - last.at > resultTtlMs) {
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
  const missing = new Set<string>()
  for (const { table, column } of columns) {
    const { rows } = await sql<{ id: string }>`
      select distinct split_part(${sql.ref(column)}, '.', 1) as id from ${sql.table(table)}
      where split_part(${sql.ref(column)}, '.', 1) <> all(${[...ring.ids]}::text[])`.execute(db)
    for (const { id } of rows) missing.add(id)
  }
  return [...missing].toSorted()
}
