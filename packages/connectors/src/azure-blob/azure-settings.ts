import { connectorTypes, containerAccess } from '@sluice/contracts'
import { InvalidSetting, type SourceOf } from '../settings/connector-definition.ts'
import { assertOneCredential, defineConnectedSource } from '../settings/define-connected-source.ts'
import { parseAddress } from '../settings/source-address.ts'
import { assertObjectSettings } from '../object-store/object-store-settings.ts'

export const azureDefinition = defineConnectedSource({
  type: connectorTypes.azureBlobStorage,
  connectionField: 'blobStoreSource',
  secretFields: containerAccess.secrets,
  assertConnection: assertEndpoint,
  assertLookup(source, kind) {
    // Listing options is possible without an account or a container, so both may be absent here.
    const { account, container } = source.blobStoreSource as Partial<typeof source.blobStoreSource>
    if (account === undefined)
      throw new InvalidSetting('/blobStoreSource/account', 'Enter the name of the storage account.')
    if (container === undefined && kind !== 'containers')
      throw new InvalidSetting('/blobStoreSource/container', 'Enter the name of the container.')
    assertEndpoint(source)
  },
  assertSettings: assertObjectSettings,
  assertSecrets: (_settings, secrets) =>
    assertOneCredential(secrets, 'blobStoreSource', { accountKey: 'an account key', sasToken: 'a SAS token' }),
  getSecretAudience: ({ blobStoreSource: { account, endpoint } }) => [account, endpoint ?? ''],
  formatSourceName: ({ blobStoreSource: { account, container }, key }) =>
    `${account}/${container}/${key}`.slice(0, 255),
})

function assertEndpoint({
  blobStoreSource: { endpoint },
}: Pick<SourceOf<typeof connectorTypes.azureBlobStorage>, 'blobStoreSource'>): void {
  if (endpoint !== undefined) parseAddress('/blobStoreSource/endpoint', endpoint)
}
