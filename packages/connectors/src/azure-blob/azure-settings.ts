import { connectorTypes, containerAccess } from '@sluice/contracts'
import { assertOneCredential, defineConnectedSource } from '../settings/connected-source.ts'
import { parseAddress } from '../settings/source-address.ts'
import { assertObjectSettings } from '../object-store/object-store-settings.ts'

export const azureDefinition = defineConnectedSource({
  type: connectorTypes.azureBlobStorage,
  connectionField: 'blobStoreSource',
  secretFields: containerAccess.secrets,
  assertConnection({ blobStoreSource: { endpoint } }) {
    if (endpoint !== undefined) parseAddress('/blobStoreSource/endpoint', endpoint)
  },
  assertSettings: assertObjectSettings,
  assertSecrets: (_settings, secrets) =>
    assertOneCredential(secrets, 'blobStoreSource', { accountKey: 'an account key', sasToken: 'a SAS token' }),
  getSecretAudience: ({ blobStoreSource: { account, endpoint } }) => [account, endpoint ?? ''],
  formatSourceName: ({ blobStoreSource: { account, container }, key }) =>
    `${account}/${container}/${key}`.slice(0, 255),
})
