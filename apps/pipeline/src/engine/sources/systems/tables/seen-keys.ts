import { hash } from 'node:crypto'

/** NEW: the key was not there. SAME: it was, with the same content. OTHER: it was, with other content. */
export type Seen = 'NEW' | 'SAME' | 'OTHER'

/** Keys that are remembered at once, in two halves: the older half is forgotten when the newer is full. */
const mostInHalf = 250_000
/** Characters of a key that is remembered as it is; of a longer one its hash is. */
const mostAsItIs = 64

/**
 * Whether a key was there before. Lists that are read page by page shift while they are read, so that a record comes twice within some
 * pages; what comes twice further apart than half a million keys is left to the warehouse, which refuses it.
 */
export class SeenKeys {
  /** By key: 32 bits of a hash of the content. */
  #newer = new Map<string, number>()
  #older = new Map<string, number>()

  /** True where it is new. */
  add(whole: string): boolean {
    return this.compare(whole, '') === 'NEW'
  }

  /** Remembers the key with its content, and says how it compares with what was there. */
  compare(whole: string, content: string): Seen {
    const key = whole.length > mostAsItIs ? hash('sha256', whole, 'base64') : whole
    const mark = content === '' ? 0 : hash('sha1', content, 'buffer').readInt32LE()
    const known = this.#newer.get(key) ?? this.#older.get(key)
    if (known !== undefined) return known === mark ? 'SAME' : 'OTHER'
    if (this.#newer.size === mostInHalf) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, mark)
    return 'NEW'
  }
}
