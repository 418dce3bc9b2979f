import { Type } from 'typebox'
import { defineSourceAccess } from '../source-credentials.ts'
import { csvOptions, delimiterNames } from '../csv-options.ts'
import { SourceUrl, describeField, SourceName, defineSecretField } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const ObjectKey = Type.String({ minLength: 1, maxLength: 1024, pattern: '^\\P{Cc}*$' })

/** Descriptions of the fields for the objects to load and the format of delimited text. */
const storeDescriptions = {
  key: describeField(
    ObjectKey,
    'Key',
    'The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}.',
    'data/2026/cases.csv',
    'data/2026/',
    'data/**/cases_*.csv',
  ),
  delimiter: describeField(
    Type.Enum([...delimiterNames]),
    'Delimiter',
    'The delimiter of delimited text. Ignored for other formats.',
    'COMMA',
  ),
  csvOptions,
}

export const bucketAccess = defineSourceAccess(
  'ObjectStoreSource',
  {
    bucket: Type.Optional(describeField(SourceName, 'Bucket', 'The name of the bucket.', 'my-bucket')),
    objectKey: Type.Optional(
      describeField(
        ObjectKey,
        'Object key',
        'A field of older clients. Sluice stores it and does not use it; the key selects the objects to load.',
        'a.csv',
      ),
    ),
    region: Type.Optional(
      describeField(SourceName, 'Region', 'The region of the bucket. Default: detected.', 'eu-west-1'),
    ),
    endpoint: Type.Optional(
      describeField(
        SourceUrl,
        'Endpoint',
        'The endpoint of an S3-compatible store. Default: Amazon S3.',
        'https://s3.example.org',
      ),
    ),
    pathStyle: Type.Optional(
      describeField(
        Type.Boolean(),
        'Path style',
        'Whether the bucket is part of the URL path (path-style), as many S3-compatible stores require.',
        true,
      ),
    ),
  },
  {
    accessKey: defineSecretField(
      'Access key',
      'The id of the key. Without keys, only public objects are read.',
      'AKIAIOSFODNN7EXAMPLE',
    ),
    secretKey: defineSecretField('Secret key', 'The secret key of the access key.', 'the secret key'),
  },
)

export const s3 = definePipelineVariant(connectorTypes.s3, {
  requestFields: { objectStoreSource: bucketAccess.requestSchema, ...storeDescriptions },
  responseFields: { objectStoreSource: bucketAccess.responseSchema, ...storeDescriptions },
})

export const containerAccess = defineSourceAccess(
  'BlobStoreSource',
  {
    account: describeField(
      Type.String({ minLength: 3, maxLength: 24, pattern: '^[a-z0-9]+$' }),
      'Account',
      'The name of the storage account.',
      'mystorageaccount',
    ),
    container: describeField(
      Type.String({ minLength: 3, maxLength: 63, pattern: '^([a-z0-9]+(-[a-z0-9]+)*|\\$root|\\$web)$' }),
      'Container',
      'The name of the container.',
      'uploads',
    ),
    endpoint: Type.Optional(
      describeField(
        SourceUrl,
        'Endpoint',
        'The endpoint of another cloud. Default: https://<account>.blob.core.windows.net.',
        'https://mystorageaccount.blob.core.usgovcloudapi.net',
      ),
    ),
  },
  {
    accountKey: defineSecretField(
      'Account key',
      'The key of the storage account. Set either this or a SAS token.',
      'the account key',
    ),
    sasToken: defineSecretField(
      'SAS token',
      'A shared access signature that may list and read.',
      'sv=2024-11-04&sp=rl&sig=…',
      4000,
    ),
  },
)

export const azureBlobStorage = definePipelineVariant(connectorTypes.azureBlobStorage, {
  requestFields: { blobStoreSource: containerAccess.requestSchema, ...storeDescriptions },
  responseFields: { blobStoreSource: containerAccess.responseSchema, ...storeDescriptions },
})
