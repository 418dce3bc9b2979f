import { hash } from 'node:crypto'

/** Keys that are remembered at once, in two halves: the older half is forgotten when the newer is full. */
const mostInHalf = 250_000
/** Characters of a key that is remembered as it is; of a longer one its hash is. */
const mostAsItIs = 64

/**
 * Whether a key was there before. Lists that are read page by page shift while they are read, so that a record comes twice within some
 * pages; what comes twice further apart than half a million keys is left to the warehouse, which refuses it.
 */
export class SeenKeys {
  #newer = new Set<string>()
  #older = new Set<string>()

  /** True where it is new. */
  add(whole: string): boolean {
    const key = whole.length > mostAsItIs ? hash('sha256', whole, 'base64') : whole
    if (this.#newer.has(key) || this.#older.has(key)) return false
    if (this.#newer.size === mostInHalf) {
      this.#older = this.#newer
      this.#newer = new Set()
    }
    this.#newer.add(key)
    return true
  }
}
