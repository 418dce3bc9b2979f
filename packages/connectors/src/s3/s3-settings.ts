import { connectorTypes, bucketAccess } from '@sluice/contracts'
import { InvalidSetting, type SourceOf } from '../settings/connector-definition.ts'
import { assertCredentialPair, defineConnectedSource } from '../settings/define-connected-source.ts'
import { parseAddress } from '../settings/source-address.ts'
import { assertObjectSettings } from '../object-store/object-store-settings.ts'

/** Amazon S3, and stores with a compatible API. */
export const s3Definition = defineConnectedSource({
  type: connectorTypes.s3,
  connectionField: 'objectStoreSource',
  secretFields: bucketAccess.secrets,
  assertConnection,
  assertLookup: (source, kind) => (kind === 'buckets' ? assertEndpoint(source) : assertConnection(source)),
  assertSettings: assertObjectSettings,
  assertSecrets: (_settings, secrets) => assertCredentialPair(secrets, 'objectStoreSource'),
  // The secret audience consists of the endpoint and the region. Keys are never sent, but another store could forward
  // requests that were signed with them. The region is part of Amazon's host name.
  getSecretAudience: ({ objectStoreSource: { endpoint, region } }) =>
    endpoint ?? (region?.includes('${') ? ['', region] : ''),
  formatSourceName: ({ objectStoreSource: { bucket }, key }) => `${bucket}/${key}`.slice(0, 255),
})

type S3Source = SourceOf<typeof connectorTypes.s3>

/** Throws `InvalidSetting` unless the bucket has a valid name and the endpoint is a valid address. */
function assertConnection(source: S3Source): void {
  const { bucket } = source.objectStoreSource
  if (bucket === undefined) throw new InvalidSetting('/objectStoreSource/bucket', 'Enter the name of the bucket.')
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket))
    throw new InvalidSetting(
      '/objectStoreSource/bucket',
      'A bucket name consists of letters, digits, dots, underscores and hyphens.',
    )
  assertEndpoint(source)
}

function assertEndpoint({ objectStoreSource: { endpoint } }: S3Source): void {
  if (endpoint !== undefined) parseAddress('/objectStoreSource/endpoint', endpoint)
}
