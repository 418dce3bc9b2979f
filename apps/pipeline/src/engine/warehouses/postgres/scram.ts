import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const iterations = 4096

/**
 * The verifier PostgreSQL keeps for a password (RFC 5803, RFC 7677). Sent instead of the password, so that no server
 * log, statement statistic or network trace ever holds it. Printable ASCII only: SASLprep leaves that as it is.
 */
export async function scramVerifier(password: string): Promise<string> {
  if (!/^[\x21-\x7e]{8,128}$/.test(password))
    throw new Error('A warehouse password has 8 to 128 printable ASCII characters.')
  const salt = randomBytes(16)
  const salted = await promisify(pbkdf2)(password, salt, iterations, 32, 'sha256')
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
