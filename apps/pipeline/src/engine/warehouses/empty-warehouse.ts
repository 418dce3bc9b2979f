import { holdsNothing } from './holds-nothing.ts'
import type { Warehouse } from './warehouse.ts'

/**
 * Drops every view, table and schema of a client's warehouse. Views that read others go first, however deep. A warehouse that was
 * never made is empty.
 */
export async function emptyWarehouse(warehouse: Warehouse): Promise<void> {
  const schemas = await warehouse.schemas().catch((error: unknown) => {
    if (holdsNothing(error)) return []
    throw error
  })
  if (schemas.length === 0) return
  await warehouse.sweepStaging(async () => new Set())
  for (;;) {
    const places = await warehouse.relations(schemas)
    if (places.length === 0) break
    let dropped = 0
    let problem: unknown
    for (const { schema, name } of places)
      try {
        if (await warehouse.findView(schema, name)) await warehouse.dropView(schema, name)
        else await warehouse.dropTable(schema, name)
        dropped += 1
      } catch (error) {
        // Something still reads it: its turn comes in the next round.
        problem = error
      }
    if (dropped === 0) throw problem
  }
  for (const schema of schemas) await warehouse.dropSchema(schema)
}
