import { parseText, parseObject, toText } from '../http-connector/parse-response.ts'
import { signJwt } from '../http-connector/sign-jwt.ts'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SourceProblem } from '@sluice/row-stream'
import type { HttpSession } from '../http-connector/http-session.ts'

const sheetsName = 'Google Sheets'
const readOnlyScope = 'https://www.googleapis.com/auth/spreadsheets.readonly'
const defaultTokenEndpoint = 'https://oauth2.googleapis.com/token'
/** The lifetime of the JWT assertion in seconds. Google accepts at most 3,600. */
const assertionLifetime = 3_600

/** The fields of a service account's JSON key file that are needed for sign-in. */
interface KeyFile {
  email: string
  key: KeyObject
  keyId: string | undefined
  tokenEndpoint: string
}

/**
 * Signs in as a service account: exchanges a signed JWT assertion for an access token that is valid for one hour.
 * Returns the authorization header.
 */
export async function signInAsServiceAccount(http: HttpSession, keyFile: string): Promise<Record<string, string>> {
  const { email, key, keyId, tokenEndpoint } = parseKeyFile(keyFile)
  const { origin, pathname } = new URL(tokenEndpoint)
  const claims = { iss: email, scope: readOnlyScope, aud: tokenEndpoint }
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: signJwt({ algorithm: 'RS256', keyId, key }, claims, assertionLifetime),
  })
  try {
    const response = await http
      .createPublicSession(origin)
      .getJson(pathname, { method: 'POST', body, isIdempotent: true })
    return { authorization: `Bearer ${parseText(response, sheetsName, 'access_token')}` }
  } catch (error) {
    // For an unknown or deleted key, Google responds with 400 instead of 401.
    const isKeyRejected = error instanceof SourceProblem && error.code === 'REQUEST_REFUSED'
    if (!isKeyRejected) throw error
    const [, serverText = ''] = / (It says: .*)$/.exec(error.message) ?? []
    throw createKeyProblem(
      `was rejected by Google. Check that the key was not deleted, and that the clock of the Sluice server is correct. ${serverText}`,
      error,
    )
  }
}

/** Parses a key file. The message of a `SourceProblem` never contains text of the file. */
function parseKeyFile(text: string): KeyFile {
  try {
    const file = parseObject(JSON.parse(text), sheetsName)
    const email = toText(file['client_email'])
    const key = createPrivateKey(String(file['private_key']))
    const tokenEndpoint = toText(file['token_uri']) ?? defaultTokenEndpoint
    if (email !== undefined && key.asymmetricKeyType === 'rsa' && URL.canParse(tokenEndpoint))
      return { email, key, keyId: toText(file['private_key_id']), tokenEndpoint }
  } catch {
    // Any error means that the text is not a key file.
  }
  throw createKeyProblem('cannot be read. Check that it is the complete, unchanged JSON file that Google created.')
}

const createKeyProblem = (problem: string, cause?: Error): SourceProblem =>
  new SourceProblem('AUTHENTICATION_FAILED', `The key of the service account ${problem}`.trim(), cause && { cause })
