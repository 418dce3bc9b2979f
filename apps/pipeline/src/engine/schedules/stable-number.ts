import { createHash } from 'node:crypto'

/** A number from 0 to below `limit`, spread evenly over uids and always the same for one: nobody has to remember it. */
export function stableNumber(uid: string, purpose: string, limit: number): number {
  return createHash('sha256').update(`${purpose} ${uid}`).digest().readUIntBE(0, 6) % limit
}
