import { randomBytes } from 'node:crypto'
import type { ReadRequest } from '../../connector.ts'
import { account, accountKey, type Azurite, azuriteMissing, sasToken, startAzurite } from './azurite.ts'
import { sharedSwift } from '@sluice/testing/shared-openstack-swift'
import { type Swift, swiftMissing } from '@sluice/testing/openstack-swift'

type Changes = Record<string, unknown>

/** A store that runs on this machine, with a bucket or container that no other test uses. */
export interface TestStore extends AsyncDisposable {
  put(key: string, bytes: Uint8Array | string, headers?: Record<string, string>): Promise<void>
  remove(key: string): Promise<void>
  /** Stores an object in the bucket or container that `another` made. */
  putInto(other: Changes, key: string, text: string): Promise<void>
  /** Makes another bucket or container; answers what of a source has to change to read it. */
  another(name: string): Promise<Changes>
  /** Of delimited text with commas, with whatever is changed of it. */
  reading(
    key: string,
    changes?: { source?: Changes; secrets?: Record<string, string>; settings?: Changes },
  ): ReadRequest
  /** Where it answers. */
  endpoint: string
  /** The header by which an object is stored as packed for the way. */
  encodedBy: string
  [Symbol.asyncDispose](): Promise<void>
}

export interface KindOfStore {
  name: string
  type: 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE'
  missing: string | undefined
  /** Tests that do not depend on the kind of store run with this one in `npm run test:long` only. */
  isSlow: boolean
  start(): Promise<TestStore>
  /** What it answers once a key is taken no more. */
  expired: string
  /** Ways not to get in: what is changed, and what is said then. */
  refused: [
    what: string,
    changes: { source?: Changes; secrets?: Record<string, string> },
    code: string,
    words: string,
  ][]
}

const swiftKind: KindOfStore = {
  name: 'a bucket of OpenStack Swift',
  type: 'OBJECT_STORAGE_BUCKET',
  missing: swiftMissing(),
  isSlow: true,
  async start() {
    const swift = await sharedSwift()
    const { endpoint, accessKey, secretKey } = swift
    const bucket = `cases-${randomBytes(6).toString('hex')}`
    await swift.put(bucket)
    const source = { bucket, endpoint, pathStyle: true }
    return common(
      { ...swift, [Symbol.asyncDispose]: async () => {} },
      'OBJECT_STORAGE_BUCKET',
      'objectStoreSource',
      'bucket',
      source,
      { accessKey, secretKey },
      'content-encoding',
    )
  },
  expired: 'ExpiredToken',
  refused: [
    ['an unknown key', { secrets: { accessKey: 'no:body' } }, 'AUTHENTICATION_FAILED', 'rejected the access key'],
    [
      'a wrong secret',
      { secrets: { secretKey: 'swordfish' } },
      'AUTHENTICATION_FAILED',
      'rejected the access key and its secret key',
    ],
    ['a missing bucket', { source: { bucket: 'nowhere' } }, 'BUCKET_MISSING', 'bucket "nowhere" does not exist'],
    ['a wrong region', { source: { region: 'eu-west-9' } }, 'OTHER_REGION', 'The bucket is in "eu-west-1"'],
  ],
}

const wrongKey = Buffer.alloc(64, 7).toString('base64')
const azuriteKind: KindOfStore = {
  name: 'a container of Azurite',
  type: 'CLOUD_BLOB_STORAGE',
  missing: azuriteMissing(),
  isSlow: false,
  async start() {
    const azurite: Azurite = await startAzurite()
    await azurite.put('cases')
    const source = { account, container: 'cases', endpoint: azurite.endpoint }
    return common(
      azurite,
      'CLOUD_BLOB_STORAGE',
      'blobStoreSource',
      'container',
      source,
      { accountKey },
      'x-ms-blob-content-encoding',
    )
  },
  expired: 'AuthenticationFailed',
  refused: [
    ['a wrong key', { secrets: { accountKey: wrongKey } }, 'AUTHENTICATION_FAILED', 'rejected the key of account'],
    ['an incomplete key', { secrets: { accountKey: 'abc' } }, 'AUTHENTICATION_FAILED', 'The account key is invalid'],
    ['a missing container', { source: { container: 'nowhere' } }, 'CONTAINER_MISSING', 'no container "nowhere"'],
    [
      'an invalid SAS token',
      { secrets: { accountKey: '', sasToken: `${sasToken('cases')}x` } },
      'AUTHENTICATION_FAILED',
      'rejected the SAS token',
    ],
    [
      'a SAS token without permission to list and read',
      { secrets: { accountKey: '', sasToken: sasToken('cases', 'w') } },
      'PERMISSION_DENIED',
      'does not permit reading',
    ],
    ['no key', { secrets: { accountKey: '' } }, 'PERMISSION_DENIED', 'enter an account key or a SAS token'],
  ],
}

export const kindsOfStores: readonly KindOfStore[] = [swiftKind, azuriteKind]

function common(
  server: Pick<Swift, 'put' | 'remove' | 'endpoint'> & AsyncDisposable,
  type: KindOfStore['type'],
  field: string,
  place: 'bucket' | 'container',
  source: Changes,
  secrets: Record<string, string>,
  encodedBy: string,
): TestStore {
  return {
    encodedBy,
    endpoint: server.endpoint,
    put: (key, bytes, headers) => server.put(`${source[place]}/${key}`, Buffer.from(bytes), headers),
    remove: (key) => server.remove(`${source[place]}/${key}`),
    putInto: (other, key, text) => server.put(`${String(other[place])}/${key}`, Buffer.from(text)),
    async another(name) {
      const unique = `${name}-${randomBytes(6).toString('hex')}`
      await server.put(unique)
      return { [place]: unique }
    },
    reading: (key, changes = {}) => ({
      type,
      settings: { [field]: { ...source, ...changes.source }, key, delimiter: 'COMMA', ...changes.settings },
      // What is empty is not there.
      secrets: Object.fromEntries(
        Object.entries({ ...secrets, ...changes.secrets }).filter(([, value]) => value !== ''),
      ),
      input: {},
    }),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  }
}
