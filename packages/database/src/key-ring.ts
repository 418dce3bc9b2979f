import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

/** An encrypted value cannot be decrypted: its key is missing, or the value was changed. */
export class SealProblem extends Error {
  override readonly name = 'SealProblem'
}

/**
 * Seals (encrypts) secrets for storage with AES-256-GCM. The result is `<key id>.<nonce>.<ciphertext and tag>` in
 * base64url. `purpose` is authenticated too, so a value that is copied to another column or row cannot be decrypted.
 */
export interface KeyRing {
  /** The id of the key with which new values are sealed. */
  newest: string
  /** The ids of all keys. */
  ids: readonly string[]
  /** Encrypts a text with the newest key. */
  seal(plain: string, purpose: string): string
  /** Decrypts a sealed text with the key that it names. Throws `SealProblem`. */
  open(sealed: string, purpose: string): string
  /**
   * Returns an HMAC-SHA-256 of the text with the newest key, in hexadecimal. It reveals nothing about the text to
   * readers without the key. It changes when the newest key does.
   */
  mac(text: string, purpose: string): string
}

/** The sizes of the key, the nonce and the authentication tag of AES-256-GCM. */
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/**
 * Creates a key ring from the text `id:base64,id:base64…`, which lists the newest key first. Each key has 32 bytes.
 * Throws for any other text. The message of the error is the end of a sentence about the text, such as `has two keys
 * "a"`.
 */
export function keyRing(text: string): KeyRing {
  const entries = text.split(',').map((entry) => parseKey(entry.trim()))
  const keys = new Map<string, Buffer>()
  for (const [id, key] of entries) {
    if (keys.has(id)) throw new Error(`has two keys "${id}"`)
    keys.set(id, key)
  }
  const [newest] = keys.keys()
  if (newest === undefined) throw new Error('holds no key')

  return {
    newest,
    ids: [...keys.keys()],
    seal(plain, purpose) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', keys.get(newest)!, nonce).setAAD(Buffer.from(purpose))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${newest}.${nonce.toString('base64url')}.${body.toString('base64url')}`
    },
    mac(text, purpose) {
      const purposeKey = createHmac('sha256', keys.get(newest)!).update(`mac:${purpose}`).digest()
      return createHmac('sha256', purposeKey).update(text).digest('hex')
    },
    open(sealed, purpose) {
      const [id = '', nonce = '', body = ''] = sealed.split('.')
      const key = keys.get(id)
      if (!key)
        throw new SealProblem(
          `A stored secret was encrypted with key "${id}", which is missing. Add it to SECRET_KEYS.`,
        )
      const bytes = Buffer.from(body, 'base64url')
      const ciphertext = bytes.subarray(0, -tagBytes)
      const tag = bytes.subarray(-tagBytes)
      try {
        // Node would otherwise accept tags of four bytes, which can be guessed.
        const options = { authTagLength: tagBytes }
        const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), options)
        decipher.setAAD(Buffer.from(purpose))
        decipher.setAuthTag(tag)
        return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8')
      } catch (error) {
        throw new SealProblem(
          `A stored secret for ${purpose} cannot be decrypted with key "${id}". The secret was changed, or SECRET_KEYS has another key under this id.`,
          { cause: error },
        )
      }
    },
  }
}

/** Parses `id:base64` into the id and the bytes of the key. */
function parseKey(entry: string): [id: string, key: Buffer] {
  const [, id, encoded] = /^([A-Za-z0-9_-]{1,20}):([A-Za-z0-9+/_=-]+)$/.exec(entry) ?? []
  if (!id || !encoded) throw new Error('must be a list of id:key, each key 32 bytes in base64')
  const key = Buffer.from(encoded, 'base64')
  if (key.length !== keyBytes) throw new Error(`has a key "${id}" of ${key.length} bytes; ${keyBytes} are needed`)
  return [id, key]
}
