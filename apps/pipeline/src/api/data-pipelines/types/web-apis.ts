import { clinicalAccess, functionAccess, spreadsheetAccess } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { parseAddress, hostOf, nameAt, normalizeAddress } from './addresses.ts'
import { assertCredentialPair, assertOneCredential, assertUsername, connected } from './connected.ts'

export const fhir = connected({
  type: 'FHIR',
  source: 'apiSource',
  secrets: clinicalAccess.secrets,
  checkConnection: ({ apiSource: { url } }) => void parseAddress('/apiSource/url', url),
  check({ method = 'SEARCH', search, group, resourceTypes, views = [] }) {
    const other = views.findIndex(({ resource }) => !resourceTypes.includes(resource))
    if (other >= 0)
      throw problems.refused(
        `/views/${other}/resource`,
        `This view is of a type that is not loaded: name ${views[other]!.resource} among the resource types.`,
      )
    if (method === 'SEARCH' && group !== undefined)
      throw problems.refused('/group', 'A group is for exports: choose the method BULK_EXPORT, or leave it out.')
    if (method === 'BULK_EXPORT' && search)
      throw problems.refused('/search', 'An export takes no search: choose the method SEARCH, or leave it out.')
  },
  checkSecrets({ apiSource: { username, clientId } }, secrets) {
    const ways = { password: 'a password', authToken: 'a token', privateKey: 'a private key' }
    assertOneCredential(secrets, 'apiSource', ways)
    assertUsername(username, secrets, 'apiSource')
    if ('privateKey' in secrets && clientId === undefined)
      throw problems.refused('/apiSource/clientId', 'Name the client that the private key belongs to.')
  },
  name: ({ resourceTypes, apiSource }) => nameAt(resourceTypes.join(', '), apiSource.url),
})

/** AWS Lambda, or a function behind an address. */
export const functionCall = connected({
  type: 'FUNCTION',
  source: 'functionSource',
  secrets: functionAccess.secrets,
  checkConnection({ functionSource: { url } }) {
    if (url !== undefined) parseAddress('/functionSource/url', url, { query: true })
  },
  check({ functionSource: { url, functionName } }) {
    if (url === undefined && functionName === undefined)
      throw problems.refused('/functionSource/url', 'Name the function by its address, or by its name at AWS Lambda.')
  },
  checkSecrets({ functionSource: { functionName } }, secrets) {
    assertCredentialPair(secrets, 'functionSource')
    if (functionName !== undefined && 'authToken' in secrets)
      throw problems.refused('/functionSource/authToken', 'A token is for an address; AWS Lambda takes an access key.')
    if (functionName === undefined && 'accessKey' in secrets)
      throw problems.refused('/functionSource/accessKey', 'An access key is for AWS Lambda; an address takes a token.')
  },
  meantFor: ({ functionSource: { url, headerName } }) => [
    url === undefined ? '' : normalizeAddress(url),
    headerName ?? '',
  ],
  name({ functionSource: { url, functionName } }) {
    return (functionName ?? hostOf(url!)).slice(0, 255)
  },
})

/** Google Sheets. Its secrets are sent to Google for every spreadsheet. */
export const onlineSpreadsheet = connected({
  type: 'ONLINE_SPREADSHEET',
  source: 'spreadsheetSource',
  secrets: spreadsheetAccess.secrets,
  checkConnection({ spreadsheetSource: { url, serviceAccountKey } }) {
    const { hostname, pathname } = parseAddress('/spreadsheetSource/url', url, { query: true, fragment: true })
    if (hostname !== 'docs.google.com' || !/^\/spreadsheets\/(u\/\d+\/)?d\/[\w-]{10,100}(\/|$)/.test(pathname))
      throw problems.refused(
        '/spreadsheetSource/url',
        'Copy the address from the browser: https://docs.google.com/spreadsheets/d/ and what follows.',
      )
    if (typeof serviceAccountKey === 'string') assertServiceAccountKey(serviceAccountKey)
  },
  checkSecrets: (_settings, secrets) =>
    assertOneCredential(secrets, 'spreadsheetSource', {
      serviceAccountKey: 'a service account',
      authToken: 'an API key',
    }),
  meantFor: () => 'Google',
  name: ({ spreadsheetSource: { url }, sheet }) => {
    const [, id = ''] = /\/d\/([\w-]+)/.exec(url) ?? []
    return sheet === undefined ? id : `${sheet} of ${id}`.slice(0, 255)
  },
})

/** Throws 422 for an invalid key file. The message never quotes it, because it holds a private key. */
function assertServiceAccountKey(text: string): void {
  const refuse = (detail: string) => problems.refused('/spreadsheetSource/serviceAccountKey', detail)
  let key: { client_email?: unknown; private_key?: unknown } | null
  try {
    key = JSON.parse(text)
  } catch {
    throw refuse('This is not JSON. Send the unchanged text of the downloaded key file.')
  }
  if (typeof key?.client_email !== 'string' || typeof key.private_key !== 'string')
    throw refuse('This is not the key file of a service account: client_email or private_key is missing.')
}
