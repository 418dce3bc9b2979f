import { type KeyObject, sign } from 'node:crypto'

/** Returns a signed JWT that is valid from now for `lifetimeSeconds`. */
export function signJwt(
  { algorithm, keyId, key }: { algorithm: 'RS256' | 'RS384' | 'ES384'; keyId: string | undefined; key: KeyObject },
  claims: Readonly<Record<string, unknown>>,
  lifetimeSeconds: number,
): string {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: algorithm, typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const parts = [header, { ...claims, iat: now, exp: now + lifetimeSeconds }]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign(`sha${algorithm.slice(2)}`, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}
