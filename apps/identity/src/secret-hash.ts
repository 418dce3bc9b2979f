import { createHash } from 'node:crypto'

/**
 * Returns the stored hash of a generated secret: 32 bytes of SHA-256. A generated secret has too many random bits for
 * guessing, so it needs no slow hash. Passwords need one: see sign-in/password.ts.
 */
export const secretHash = (secret: string): Buffer => createHash('sha256').update(secret).digest()
