import { connectorTypes, bucketAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { assertCredentialPair, defineConnectedSource } from '../settings/connected-source.ts'
import { parseAddress } from '../settings/source-address.ts'
import { assertObjectSettings } from '../object-store/object-store-settings.ts'

/** Amazon S3 and compatible stores. */
export const s3Definition = defineConnectedSource({
  type: connectorTypes.s3,
  connectionField: 'objectStoreSource',
  secretFields: bucketAccess.secrets,
  assertConnection({ objectStoreSource: { bucket, endpoint } }) {
    if (bucket === undefined) throw new InvalidSetting('/objectStoreSource/bucket', 'Name the bucket.')
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket))
      throw new InvalidSetting(
        '/objectStoreSource/bucket',
        'A bucket name consists of letters, digits, dots, underscores and hyphens.',
      )
    if (endpoint !== undefined) parseAddress('/objectStoreSource/endpoint', endpoint)
  },
  assertSettings: assertObjectSettings,
  assertSecrets: (_settings, secrets) => assertCredentialPair(secrets, 'objectStoreSource'),
  // Keys are not sent, but another store could forward the signed requests. The region is a part of Amazon's host.
  getSecretAudience: ({ objectStoreSource: { endpoint, region } }) =>
    endpoint ?? (region?.includes('${') ? ['', region] : ''),
  formatSourceName: ({ objectStoreSource: { bucket }, key }) => `${bucket}/${key}`.slice(0, 255),
})
