import { createHash } from 'node:crypto'

/**
 * What is kept of a secret that a machine made: 32 bytes of SHA-256. With the randomness that such a one has, nobody finds it
 * by trying, so it needs no slow hash. Passwords do: see sign-in/password.ts.
 */
export const secretHash = (secret: string): Buffer => createHash('sha256').update(secret).digest()
