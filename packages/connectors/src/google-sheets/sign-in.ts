import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'

const name = 'Google Sheets'
const scope = 'https://www.googleapis.com/auth/spreadsheets.readonly'
const usual = 'https://oauth2.googleapis.com/token'
/** Seconds. Google's maximum. */
const lifetime = 3_600

/** The fields of a service account's JSON key file that the sign-in needs. */
interface KeyFile {
  email: string
  key: KeyObject
  keyId: string | undefined
  address: string
}

/**
 * Exchanges a signed JWT assertion of the account for an access token that is valid for an hour. The assertion is valid for
 * that endpoint only.
 */
export async function signInAsAccount(http: HttpSession, keyFile: string): Promise<Record<string, string>> {
  const account = read(keyFile)
  const { origin, pathname } = new URL(account.address)
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: statement(account),
  })
  try {
    const answer = await http.forOrigin(origin).getJson(pathname, { method: 'POST', body, repeatable: true })
    const token = toText(parseObject(answer, name)['access_token'])
    if (token === undefined) throw createResponseProblem(name, 'an access_token')
    return { authorization: `Bearer ${token}` }
  } catch (error) {
    // Google returns 400 for unknown and revoked keys.
    if (!(error instanceof SourceProblem) || error.code !== 'REQUEST_REFUSED') throw error
    const [, said = ''] = / (It says: .*)$/.exec(error.message) ?? []
    throw refused(
      `is not taken by Google: check that it was not deleted, and that the clock of this server is right. ${said}`,
      error,
    )
  }
}

function statement({ email, key, keyId, address }: KeyFile): string {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const claims = { iss: email, scope, aud: address, iat: now, exp: now + lifetime }
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

/** Parses a key file. The error does not contain the text of the file. */
function read(text: string): KeyFile {
  try {
    const file = parseObject(JSON.parse(text), name)
    const email = toText(file['client_email'])
    const key = createPrivateKey(String(file['private_key']))
    const address = toText(file['token_uri']) ?? usual
    if (email !== undefined && key.asymmetricKeyType === 'rsa' && URL.canParse(address))
      return { email, key, keyId: toText(file['private_key_id']), address }
  } catch {
    // The text is not a key file.
  }
  throw refused('cannot be read: check that it is the JSON file, whole, as Google gave it out.')
}

const refused = (what: string, cause?: Error): SourceProblem =>
  new SourceProblem('AUTHENTICATION_FAILED', `The key of the service account ${what}`.trim(), cause && { cause })
