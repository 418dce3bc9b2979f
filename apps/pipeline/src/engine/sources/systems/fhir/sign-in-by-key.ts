import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto'
import { SourceProblem } from '../../source.ts'
import { fieldsOf, strange, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'

interface Client {
  clientId?: string
  keyId?: string
  scope?: string
}

/** Seconds. Servers take five minutes at most. */
const lifetime = 240

/**
 * SMART Backend Services: a signed statement of who this is, for a token of some minutes. The server says where those are given out,
 * which may be another host: it gets the statement, which is good for that place alone, and nothing else.
 */
export async function signInByKey(
  http: Http,
  prefix: string,
  { clientId = '', keyId, scope = 'system/*.rs' }: Client,
  privateKey: string,
): Promise<Record<string, string>> {
  const key = keyOf(privateKey)
  const found = fieldsOf(
    await http.json(`${prefix}/.well-known/smart-configuration`, { what: 'The description of how programs sign in' }),
    'FHIR',
  )
  const address = textOf(found['token_endpoint'])
  if (address === undefined || !URL.canParse(address)) throw strange('FHIR', 'a token_endpoint')
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: statement(key, { clientId, keyId, address }),
  })
  const { pathname, search, origin } = new URL(address)
  const answer = fieldsOf(await http.elsewhere(origin).json(`${pathname}${search}`, { method: 'POST', body }), 'FHIR')
  const token = textOf(answer['access_token'])
  if (token === undefined) throw strange('FHIR', 'an access_token')
  return { authorization: `Bearer ${token}` }
}

function statement(
  key: KeyObject,
  { clientId, keyId, address }: { clientId: string; keyId: string | undefined; address: string },
): string {
  const rsa = key.asymmetricKeyType === 'rsa'
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: rsa ? 'RS384' : 'ES384', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const claims = { iss: clientId, sub: clientId, aud: address, iat: now, exp: now + lifetime, jti: randomUUID() }
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha384', Buffer.from(text), rsa ? key : { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

/** Named for what is wrong, never shown. */
function keyOf(pem: string): KeyObject {
  const refuse = (what: string) =>
    new SourceProblem('AUTHENTICATION_FAILED', `The private key ${what}: give one of RSA or P-384 as PKCS #8 in PEM.`)
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw refuse('cannot be read')
  }
  const curve = key.asymmetricKeyDetails?.namedCurve
  if (key.asymmetricKeyType === 'rsa' || (key.asymmetricKeyType === 'ec' && curve === 'secp384r1')) return key
  throw refuse('is of a kind that servers do not take')
}
