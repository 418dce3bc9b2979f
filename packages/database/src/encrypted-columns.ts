import { type Kysely, sql } from 'kysely'
import { type KeyRing, SealProblem } from './key-ring.ts'
import { isUnavailable } from './classify-database-errors.ts'

/**
 * A column with sealed (encrypted) texts. Each value was sealed for the purpose `table.column:<row key>`, where the row
 * key is the value of the row's key column.
 */
export interface SealedColumn {
  table: string
  /** The name of the key column, which is unique and not null. */
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
  remaining: number
}

const batchSize = 500

/**
 * Encrypts ("seals") every value of a column again that was not sealed with the newest key. Returns how many values it
 * resealed, which it cannot decrypt, and how many still need an older key. Services may run at the same time: a value
 * that they change meanwhile is not overwritten. The operation can be stopped and run again.
 */
export async function resealColumn(db: Kysely<any>, ring: KeyRing, sealed: SealedColumn): Promise<ResealResult> {
  const { table, column } = sealed
  const unreadable: string[] = []
  let resealed = 0
  for await (const row of readValuesWithOlderKeys(db, ring, sealed)) {
    const purpose = `${table}.${column}:${row.key}`
    const resealedValue = resealValue(ring, row.value, purpose)
    if (resealedValue instanceof SealProblem) unreadable.push(resealedValue.message)
    else if (await replaceValue(db, sealed, row, resealedValue)) resealed += 1
  }
  const remaining = await countValuesWithOlderKeys(db, ring, sealed)
  return { column: `${table}.${column}`, resealed, unreadable, remaining }
}

/** Yields the values that were not sealed with the newest key, in the order of their row keys. Reads in batches. */
async function* readValuesWithOlderKeys(
  db: Kysely<any>,
  ring: KeyRing,
  { table, key, column }: SealedColumn,
): AsyncGenerator<{ key: string; value: string }, void, void> {
  let lastKey: string | undefined
  for (;;) {
    const isAfterLastBatch = lastKey === undefined ? sql`true` : sql`${sql.ref(key)} > ${lastKey}`
    const { rows } = await sql<{ key: string; value: string }>`
      select ${sql.ref(key)}::text as key, ${sql.ref(column)} as value from ${sql.table(table)}
      where ${sealingKeyId(column)} <> ${ring.newest} and ${isAfterLastBatch}
      order by ${sql.ref(key)} limit ${batchSize}`.execute(db)
    yield* rows
    if (rows.length < batchSize) return
    lastKey = rows.at(-1)!.key
  }
}

async function countValuesWithOlderKeys(
  db: Kysely<any>,
  ring: KeyRing,
  { table, column }: SealedColumn,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)} where ${sealingKeyId(column)} <> ${ring.newest}`.execute(db)
  return rows[0]!.count
}

/** The SQL expression for the id of the key with which a value was sealed: the text before the first dot. */
const sealingKeyId = (column: string) => sql`split_part(${sql.ref(column)}, '.', 1)`

/**
 * Decrypts the value and seals it with the newest key. Returns (does not throw) the problem if it cannot be decrypted.
 */
function resealValue(ring: KeyRing, value: string, purpose: string): string | SealProblem {
  try {
    return ring.seal(ring.open(value, purpose), purpose)
  } catch (error) {
    if (error instanceof SealProblem) return error
    throw error
  }
}

/** Replaces the value unless it was changed since it was read. Returns whether it was replaced. */
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

/**
 * Reseals all columns and writes the results with `writeLine`. Returns true if no value needs an older key any more.
 */
export async function resealAll(
  db: Kysely<any>,
  ring: KeyRing,
  columns: readonly SealedColumn[],
  writeLine: (line: string) => void,
): Promise<boolean> {
  let totalRemaining = 0
  for (const sealed of columns) {
    const { column, resealed, unreadable, remaining } = await resealColumn(db, ring, sealed)
    writeLine(`${column}: ${resealed} resealed${remaining > 0 ? `, ${remaining} left` : ''}`)
    for (const sentence of unreadable) writeLine(`  ${sentence}`)
    totalRemaining += remaining
  }
  if (totalRemaining > 0) {
    writeLine(
      `Keep the older keys: ${totalRemaining} values still need them. Once every process lists "${ring.newest}" first, run this again.`,
    )
    return false
  }
  writeLine(`Everything is sealed with "${ring.newest}": older keys can be taken out of SECRET_KEYS.`)
  return true
}

/** Milliseconds for which a result is cached, because health probes run every few seconds. */
const resultTtlMs = 30_000

/**
 * Returns a health check that throws `SealProblem` if a stored secret was sealed with a key that is not configured. The
 * check reads the database at most every 30 seconds. It passes while the database is unavailable.
 */
export function createMissingKeysCheck(
  db: Kysely<any>,
  ring: KeyRing,
  columns: readonly SealedColumn[],
): () => Promise<void> {
  let cached: { readAt: number; missingKeyIds: readonly string[] } | undefined
  return async () => {
    if (!cached || performance.now() - cached.readAt > resultTtlMs) {
      try {
        cached = { readAt: performance.now(), missingKeyIds: await listMissingKeyIds(db, ring, columns) }
      } catch (error) {
        if (isUnavailable(error)) return
        throw error
      }
    }
    const { missingKeyIds } = cached
    if (missingKeyIds.length > 0)
      throw new SealProblem(
        `Stored secrets were sealed with ${missingKeyIds.map((id) => `"${id}"`).join(', ')}: add these keys to SECRET_KEYS.`,
      )
  }
}

/** Returns the ids, sorted, of the keys that sealed a stored value and are not in the ring. */
async function listMissingKeyIds(db: Kysely<any>, ring: KeyRing, columns: readonly SealedColumn[]): Promise<string[]> {
  const missingKeyIds = new Set<string>()
  for (const { table, column } of columns) {
    const { rows } = await sql<{ id: string }>`
      select distinct ${sealingKeyId(column)} as id from ${sql.table(table)}
      where ${sealingKeyId(column)} <> all(${[...ring.ids]}::text[])`.execute(db)
    for (const { id } of rows) missingKeyIds.add(id)
  }
  return [...missingKeyIds].toSorted()
}
