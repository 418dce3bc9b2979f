import { hash } from 'node:crypto'

/**
 * Comparison of a record with earlier ones. NEW: no earlier record has the key. REPEATED: an earlier record has the
 * same key and content. CONFLICTING: an earlier record has the same key and other content.
 */
export type KeyComparison = 'NEW' | 'REPEATED' | 'CONFLICTING'

/** Maximum number of keys in each of two maps. When the newer map is full, the older one is discarded. */
const maxKeysPerGeneration = 250_000
/** Maximum characters of a stored key. Longer keys are stored as hashes. */
const maxStoredKeyLength = 64

/**
 * Detects repeated keys. A record can occur on two pages that are close together, because lists shift while they are
 * read. After half a million other keys, a repeated key is not detected here; the warehouse rejects it.
 */
export class SeenKeys {
  /** Content hashes of 32 bits by key. */
  #newer = new Map<string | number, number>()
  #older = new Map<string | number, number>()

  /** Stores a key. Returns true if it is new. */
  add(key: string): boolean {
    return this.compare(key, 0) === 'NEW'
  }

  /** Stores the key with the hash of its content. Returns the comparison with an earlier record. */
  compare(fullKey: string | number, contentHash: number): KeyComparison {
    const isLong = typeof fullKey === 'string' && fullKey.length > maxStoredKeyLength
    const key = isLong ? hash('sha256', fullKey, 'base64') : fullKey
    const earlierHash = this.#newer.get(key) ?? this.#older.get(key)
    if (earlierHash !== undefined) return earlierHash === contentHash ? 'REPEATED' : 'CONFLICTING'
    if (this.#newer.size === maxKeysPerGeneration) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, contentHash)
    return 'NEW'
  }
}
