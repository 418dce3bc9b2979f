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
  seal(plain: string, purpose: string): string
  open(sealed: string, purpose: string): string
  /**
   * Returns an HMAC-SHA-256 of the text with the newest key, in hexadecimal. It reveals nothing about the text to
   * readers without the key. It changes when the newest key does.
   */
  mac(text: string, purpose: string): string
}

/** Parses `id:base64,id:base64…`: the newest key first, 32 bytes each. Throws an error that contains the reason. */
export function keyRing(text: string): KeyRing {
  const entries = text.split(',').map((entry) => parseKey(entry.trim()))
  const keys = new Map(entries)
  const duplicate = entries.find(([id], index) => entries.findIndex(([other]) => other === id) < index)
  if (duplicate) throw new Error(`has two keys "${duplicate[0]}"`)
  const [newest] = keys.keys()
  if (newest === undefined) throw new Error('holds no key')

  return {
    newest,
    ids: [...keys.keys()],
    seal(plain, purpose) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keys.get(newest)!, nonce).setAAD(Buffer.from(purpose))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${newest}.${nonce.toString('base64url')}.${body.toString('base64url')}`
    },
    mac(text, purpose) {
      const key = createHmac('sha256', keys.get(newest)!).update(`mac:${purpose}`).digest()
      return createHmac('sha256', key).update(text).digest('hex')
    },
    open(sealed, purpose) {
      const [id = '', nonce = '', body = ''] = sealed.split('.')
      const key = keys.get(id)
      if (!key)
        throw new SealProblem(
          `A stored secret was encrypted with key "${id}", which is missing. Add it to SECRET_KEYS.`,
        )
      const bytes = Buffer.from(body, 'base64url')
      try {
        // If no length is given, Node accepts authentication tags of four bytes, which can be guessed.
        const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: 16 })
        decipher.setAAD(Buffer.from(purpose))
        decipher.setAuthTag(bytes.subarray(-16))
        return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
      } catch (error) {
        throw new SealProblem(
          `A stored secret for ${purpose} cannot be decrypted with key "${id}". The secret was changed, or SECRET_KEYS has another key under this id.`,
          { cause: error },
        )
      }
    },
  }
}

function parseKey(entry: string): [string, Buffer] {
  const [, id, encoded] = /^([A-Za-z0-9_-]{1,20}):([A-Za-z0-9+/_=-]+)$/.exec(entry) ?? []
  if (!id || !encoded) throw new Error('must be a list of id:key, each key 32 bytes in base64')
  const key = Buffer.from(encoded, 'base64')
  if (key.length !== 32) throw new Error(`has a key "${id}" of ${key.length} bytes; 32 are needed`)
  return [id, key]
}
