import { bucketAccess, containerAccess } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { parseAddress } from './addresses.ts'
import { assertCredentialPair, assertOneCredential, connected } from './connected.ts'
import { checkCsvOptions } from './uploads.ts'
import { findKeyPatternProblem } from '@sluice/connectors/object-store/key-pattern-problem'
import type { SourceOf } from './pipeline-type.ts'

type ObjectStoreBody = SourceOf<'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE'>

function checkWhat({ key, csvOptions = {} }: Pick<ObjectStoreBody, 'key' | 'csvOptions'>): void {
  const wrong = findKeyPatternProblem(key)
  if (wrong) throw problems.refused('/key', wrong)
  if (csvOptions.delimiter !== undefined)
    throw problems.refused('/csvOptions/delimiter', 'Use the field delimiter of the source instead.')
  checkCsvOptions(csvOptions)
}

/** Amazon S3 and compatible stores. */
export const objectStorageBucket = connected({
  type: 'OBJECT_STORAGE_BUCKET',
  source: 'objectStoreSource',
  secrets: bucketAccess.secrets,
  checkConnection({ objectStoreSource: { bucket, endpoint } }) {
    if (bucket === undefined) throw problems.refused('/objectStoreSource/bucket', 'Name the bucket.')
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket))
      throw problems.refused('/objectStoreSource/bucket', 'Buckets are named with letters, digits, points and hyphens.')
    if (endpoint !== undefined) parseAddress('/objectStoreSource/endpoint', endpoint)
  },
  check: checkWhat,
  checkSecrets: (_settings, secrets) => assertCredentialPair(secrets, 'objectStoreSource'),
  // Keys are not sent, but another store could forward the signed requests. The region is a part of Amazon's host.
  meantFor: ({ objectStoreSource: { endpoint, region } }) => endpoint ?? (region?.includes('${') ? ['', region] : ''),
  name: ({ objectStoreSource: { bucket }, key }) => `${bucket}/${key}`.slice(0, 255),
})

/** Azure Blob Storage. */
export const cloudBlobStorage = connected({
  type: 'CLOUD_BLOB_STORAGE',
  source: 'blobStoreSource',
  secrets: containerAccess.secrets,
  checkConnection({ blobStoreSource: { endpoint } }) {
    if (endpoint !== undefined) parseAddress('/blobStoreSource/endpoint', endpoint)
  },
  check: checkWhat,
  checkSecrets: (_settings, secrets) =>
    assertOneCredential(secrets, 'blobStoreSource', { accountKey: 'an account key', sasToken: 'a SAS token' }),
  meantFor: ({ blobStoreSource: { account, endpoint } }) => [account, endpoint ?? ''],
  name: ({ blobStoreSource: { account, container }, key }) => `${account}/${container}/${key}`.slice(0, 255),
})
