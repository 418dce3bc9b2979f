import type { SqlDialect } from '../sql-dialect.ts'
import { withSession } from '../table-shape.ts'

/** Returns the values of a key that several rows of `table` share; undefined if all keys are unique. */
export async function findDuplicateKey(
  dialect: SqlDialect,
  keys: readonly string[],
  table: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const names = keys.map((name) => dialect.names.quoted(name)).join(', ')
  const text = `select ${names} from ${table} group by ${names} having count(*) > 1`
  return withSession(dialect, { role: 'read', signal }, async (session) => {
    for await (const { rows } of session.read(text, [], { rows: 1, bytes: () => 1 })) {
      const [twice] = rows
      return twice?.map((cell) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell))).join(', ')
    }
    return undefined
  })
}
