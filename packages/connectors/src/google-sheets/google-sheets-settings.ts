import { connectorTypes, spreadsheetAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { assertOneCredential, defineConnectedSource } from '../settings/define-connected-source.ts'
import { parseAddress } from '../settings/source-address.ts'

/** Google Sheets. All spreadsheets have the same secret audience, because all secrets are sent only to Google. */
export const googleSheetsDefinition = defineConnectedSource({
  type: connectorTypes.googleSheets,
  connectionField: 'spreadsheetSource',
  secretFields: spreadsheetAccess.secrets,
  assertConnection({ spreadsheetSource: { url, serviceAccountKey } }) {
    const { hostname, pathname } = parseAddress('/spreadsheetSource/url', url, {
      mayHaveQuery: true,
      mayHaveFragment: true,
    })
    if (hostname !== 'docs.google.com' || !/^\/spreadsheets\/(u\/\d+\/)?d\/[\w-]{10,100}(\/|$)/.test(pathname))
      throw new InvalidSetting(
        '/spreadsheetSource/url',
        'Invalid spreadsheet address. Copy it from the browser; it starts with https://docs.google.com/spreadsheets/d/.',
      )
    if (typeof serviceAccountKey === 'string') assertServiceAccountKey(serviceAccountKey)
  },
  assertSecrets: (_settings, secrets) =>
    assertOneCredential(secrets, 'spreadsheetSource', {
      serviceAccountKey: 'a service account',
      authToken: 'an API key',
    }),
  getSecretAudience: () => 'Google',
  formatSourceName: ({ spreadsheetSource: { url }, sheet }) => {
    const [, id = ''] = /\/d\/([\w-]+)/.exec(url) ?? []
    return sheet === undefined ? id : `${sheet} of ${id}`.slice(0, 255)
  },
})

/**
 * Throws `InvalidSetting` for an invalid key file. The message never quotes the file, because it contains a private
 * key.
 */
function assertServiceAccountKey(text: string): void {
  const createKeyError = (detail: string) => new InvalidSetting('/spreadsheetSource/serviceAccountKey', detail)
  let key: { client_email?: unknown; private_key?: unknown } | null
  try {
    key = JSON.parse(text)
  } catch {
    throw createKeyError('This is not JSON. Send the unchanged text of the downloaded key file.')
  }
  if (typeof key?.client_email !== 'string' || typeof key.private_key !== 'string')
    throw createKeyError(
      'client_email or private_key is missing. Send the unchanged text of the key file of a service account.',
    )
}
