import { Type } from 'typebox'
import { access } from '../access.ts'
import { csvOptions, delimiters } from '../csv-options.ts'
import { Address, field, Name, secret } from '../field.ts'
import { connectorTypes } from '../systems.ts'
import { variant } from '../variant.ts'

const Key = Type.String({ minLength: 1, maxLength: 1024, pattern: '^\\P{Cc}*$' })

/** The objects to load, and the format of delimited text. */
const what = {
  key: field(
    Key,
    'Key',
    'One object; all below a folder, where it ends with a slash; or all that a pattern of *, **, ?, [] and {} fits.',
    'data/2026/cases.csv',
    'data/2026/',
    'data/**/cases_*.csv',
  ),
  delimiter: field(
    Type.Enum([...delimiters]),
    'Delimiter',
    'What parts the fields of delimited text. Other kinds of files need none, and take any.',
    'COMMA',
  ),
  csvOptions,
}

export const bucketAccess = access(
  'ObjectStoreSource',
  {
    bucket: Type.Optional(field(Name, 'Bucket', 'Where the objects are.', 'my-bucket')),
    objectKey: Type.Optional(
      field(
        Key,
        'Object key',
        'Of older clients: kept, and counts for nothing. What is loaded is what key says.',
        'a.csv',
      ),
    ),
    region: Type.Optional(field(Name, 'Region', "The bucket's; found out where it is absent.", 'eu-west-1')),
    endpoint: Type.Optional(
      field(
        Address,
        'Endpoint',
        'Of a store that is compatible with S3; Amazon when absent.',
        'https://s3.example.org',
      ),
    ),
    pathStyle: Type.Optional(
      field(Type.Boolean(), 'Path style', 'Whether the bucket goes into the path, as compatible stores want it.', true),
    ),
  },
  {
    accessKey: secret('Access key', 'Its id. Without keys, what anybody may read is read.', 'AKIAIOSFODNN7EXAMPLE'),
    secretKey: secret('Secret key', 'What belongs to the access key.', 'the secret key'),
  },
)

/** Amazon S3 and compatible stores: the object-store file variant. */
export const s3 = variant(connectorTypes.s3, {
  given: { objectStoreSource: bucketAccess.given, ...what },
  answered: { objectStoreSource: bucketAccess.answered, ...what },
})

export const containerAccess = access(
  'BlobStoreSource',
  {
    account: field(
      Type.String({ minLength: 3, maxLength: 24, pattern: '^[a-z0-9]+$' }),
      'Account',
      'The name of the storage account.',
      'mystorageaccount',
    ),
    container: field(
      Type.String({ minLength: 3, maxLength: 63, pattern: '^([a-z0-9]+(-[a-z0-9]+)*|\\$root|\\$web)$' }),
      'Container',
      'Where the blobs are.',
      'uploads',
    ),
    endpoint: Type.Optional(
      field(
        Address,
        'Endpoint',
        'Of another cloud than the public one; https://<account>.blob.core.windows.net when absent.',
        'https://mystorageaccount.blob.core.usgovcloudapi.net',
      ),
    ),
  },
  {
    accountKey: secret('Account key', 'Of the storage account. Either this or a SAS token.', 'the account key'),
    sasToken: secret(
      'SAS token',
      'A shared access signature that may list and read.',
      'sv=2024-11-04&sp=rl&sig=…',
      4000,
    ),
  },
)

/** Azure Blob Storage. */
export const azureBlobStorage = variant(connectorTypes.azureBlobStorage, {
  given: { blobStoreSource: containerAccess.given, ...what },
  answered: { blobStoreSource: containerAccess.answered, ...what },
})
