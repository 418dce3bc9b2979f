import type { Dialect } from './dialect.ts'
import type { DialectLoad } from './load.ts'
import { asked } from './shapes.ts'

/** The key of some two rows that have the same one; undefined where there are none. */
export async function keyTwice(dialect: Dialect, load: DialectLoad, signal: AbortSignal): Promise<string | undefined> {
  const keys = load.keys.map((name) => dialect.names.quoted(name)).join(', ')
  const text = `select ${keys} from ${load.stagingTable} group by ${keys} having count(*) > 1`
  return asked(dialect, { role: 'read', signal }, async (session) => {
    for await (const { rows } of session.read(text, [], { rows: 1, bytes: () => 1 })) {
      const [twice] = rows
      return twice?.map((cell) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell))).join(', ')
    }
    return undefined
  })
}
