import { connectorTypes, clinicalAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { assertOneCredential, assertUsername, defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const fhirDefinition = defineConnectedSource({
  type: connectorTypes.fhir,
  connectionField: 'apiSource',
  secretFields: clinicalAccess.secrets,
  assertSettings({ method = 'SEARCH', search, group, resourceTypes, views = [] }) {
    const unmatchedViewIndex = views.findIndex(({ resource }) => !resourceTypes.includes(resource))
    if (unmatchedViewIndex >= 0)
      throw new InvalidSetting(
        `/views/${unmatchedViewIndex}/resource`,
        `This view reads a resource type that is not loaded. Add ${views[unmatchedViewIndex]!.resource} to the resource types.`,
      )
    if (method === 'SEARCH' && group !== undefined)
      throw new InvalidSetting(
        '/group',
        'A group can be used only with BULK_EXPORT. Choose BULK_EXPORT, or remove the group.',
      )
    if (method === 'BULK_EXPORT' && search)
      throw new InvalidSetting('/search', 'Exports support no search. Choose the method SEARCH, or remove it.')
  },
  assertSecrets({ apiSource: { username, clientId } }, secrets) {
    const credentialNames = { password: 'a password', authToken: 'a token', privateKey: 'a private key' }
    assertOneCredential(secrets, 'apiSource', credentialNames)
    assertUsername(username, secrets, 'apiSource')
    if ('privateKey' in secrets && clientId === undefined)
      throw new InvalidSetting(
        '/apiSource/clientId',
        'A private key requires a client ID. Enter the ID that the server assigned to the key.',
      )
  },
  formatSourceName: ({ resourceTypes, apiSource }) => formatNameAt(resourceTypes.join(', '), apiSource.url),
})
