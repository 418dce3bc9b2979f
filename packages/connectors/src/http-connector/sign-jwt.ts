import { type KeyObject, sign } from 'node:crypto'

/** Returns a signed JWT that is valid from now for `lifetimeSeconds`. */
export function signJwt(
  { algorithm, keyId, key }: { algorithm: 'RS256' | 'RS384' | 'ES384'; keyId: string | undefined; key: KeyObject },
  claims: Readonly<Record<string, unknown>>,
  lifetimeSeconds: number,
): string {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: algorithm, typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const payload = { ...claims, iat: now, exp: now + lifetimeSeconds }
  const signedText = `${encodeSegment(header)}.${encodeSegment(payload)}`
  const hashName = `sha${algorithm.slice(2)}`
  // JWT requires this format for ECDSA signatures. RSA keys ignore the option.
  const signature = sign(hashName, Buffer.from(signedText), { key, dsaEncoding: 'ieee-p1363' })
  return `${signedText}.${signature.toString('base64url')}`
}

const encodeSegment = (segment: object): string => Buffer.from(JSON.stringify(segment)).toString('base64url')
