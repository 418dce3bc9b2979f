import { WarehouseProblem } from '../warehouse.ts'
import type { Dialect } from './dialect.ts'
import type { DialectLoad } from './load.ts'
import { asked } from './shapes.ts'

/** No server here is trusted to keep a key unique, so it is asked before anybody sees the rows. */
export async function demandUnique(dialect: Dialect, load: DialectLoad, signal: AbortSignal): Promise<void> {
  if (load.keys.length === 0) return
  const keys = load.keys.map((name) => dialect.names.quoted(name)).join(', ')
  const text = `select ${keys} from ${load.stagingTable} group by ${keys} having count(*) > 1`
  await asked(dialect, { role: 'read', signal }, async (session) => {
    for await (const { rows } of session.read(text, [], { rows: 1, bytes: () => 1 })) {
      const [twice] = rows
      if (!twice) return
      throw new WarehouseProblem(
        'DUPLICATE_KEY',
        `Two rows of ${load.place} have the same primary key: Key (${load.keys.join(', ')})=(${twice.map((cell) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell))).join(', ')}) is duplicated.`,
      )
    }
  })
}
