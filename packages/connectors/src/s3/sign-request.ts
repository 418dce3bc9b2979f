import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'
import { assertAccessKey } from '../settings/assert-access-key.ts'
import { percentEncode } from '../object-store/object-store.ts'
import type { S3Config } from './s3-problems.ts'

/** Keys for signing, derived from the secret key. Cached by day and region. */
export type SigningKeys = Map<string, KeyObject>

const algorithm = 'AWS4-HMAC-SHA256'
const hashOfEmptyBody = hash('sha256', '', 'hex')
/** Headers that proxies may change, so the signature does not cover them. */
const unsignedHeaders = new Set(['range'])

/**
 * Returns the headers of a GET request, signed with AWS Signature Version 4 if the settings contain an access key.
 * Throws `SourceProblem` for an invalid key. A library would take longer to sign than a small request itself takes: it
 * derives the key for each request, and parses URL and headers again.
 */
export function signHeaders(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { accessKey, secretKey }: Pick<S3Config, 'accessKey' | 'secretKey'>,
  region: string,
  signingKeys: SigningKeys = new Map(),
): Record<string, string> {
  if (accessKey === undefined || secretKey === undefined) return { ...headers }
  assertAccessKey(accessKey)
  // The format is `20260131T123000Z`.
  const time = new Date().toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  const sentHeaders: Record<string, string> = {
    ...headers,
    'x-amz-content-sha256': hashOfEmptyBody,
    'x-amz-date': time,
  }
  const { canonicalRequest, signedNames } = createCanonicalRequest(url, sentHeaders)
  const day = time.slice(0, 8)
  const scope = `${day}/${region}/s3/aws4_request`
  const signingKey = signingKeys.get(scope) ?? deriveKey(secretKey, scope)
  signingKeys.set(scope, signingKey)
  const textToSign = [algorithm, time, scope, hash('sha256', canonicalRequest, 'hex')].join('\n')
  const signature = createHmac('sha256', signingKey).update(textToSign).digest('hex')
  return {
    ...sentHeaders,
    authorization: `${algorithm} Credential=${accessKey}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`,
  }
}

/** Returns the request in the canonical form of AWS Signature Version 4, and the names of the signed headers. */
function createCanonicalRequest(
  url: URL,
  sentHeaders: Readonly<Record<string, string>>,
): { canonicalRequest: string; signedNames: string } {
  // The HTTP client adds the header Host.
  const headers: Record<string, string> = { ...sentHeaders, host: url.host }
  const names = Object.keys(headers)
    .filter((name) => !unsignedHeaders.has(name))
    .toSorted()
  const canonicalHeaders = names.map((name) => `${name}:${headers[name]!.trim().replaceAll(/\s+/g, ' ')}`)
  const signedNames = names.join(';')
  const lines = [
    'GET',
    encodeCanonicalPath(url),
    encodeCanonicalQuery(url),
    ...canonicalHeaders,
    '',
    signedNames,
    hashOfEmptyBody,
  ]
  return { canonicalRequest: lines.join('\n'), signedNames }
}

/**
 * Derives the signing key for a scope: a day, a region and a service. Returns it as a key object, which `createHmac`
 * accepts faster than bytes.
 */
function deriveKey(secretKey: string, scope: string): KeyObject {
  let key: Buffer | string = `AWS4${secretKey}`
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest()
  return createSecretKey(key as Buffer)
}

/** Returns the path in the encoding that the signature requires. */
function encodeCanonicalPath({ pathname }: URL): string {
  return decodePath(pathname).split('/').map(percentEncode).join('/')
}

function decodePath(pathname: string): string {
  try {
    return decodeURIComponent(pathname.replaceAll('+', ' '))
  } catch {
    return pathname
  }
}

/**
 * Returns the query in the encoding that the signature requires, with the parameters sorted by name. If several have
 * the same name, only the first one counts.
 */
function encodeCanonicalQuery({ search, searchParams }: URL): string {
  if (search === '') return ''
  const names = [...new Set(searchParams.keys())].filter((name) => name !== '')
  return names
    .map((name) => ({ name: percentEncode(name), value: percentEncode(searchParams.get(name)!) }))
    .toSorted((first, second) => (first.name < second.name ? -1 : 1))
    .map(({ name, value }) => `${name}=${value}`)
    .join('&')
}
