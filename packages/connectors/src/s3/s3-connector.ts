import type { SourceBody } from '@sluice/contracts'
import type { Connector, ReadRequest } from '../connector.ts'
import { createObjectStoreConnector, type StoreContext } from '../object-store/object-store-connector.ts'
import {
  encodeKey,
  parseSize,
  type ListedFolder,
  parseObjectTime,
  createObjectStore,
  type ObjectStore,
  parseErrorResponse,
  type StoredObject,
  type StoreRequest,
} from '../object-store/object-store.ts'
import type { StoreClient, StoreResponse } from '../object-store/store-client.ts'
import { findChild, parseXml, getChildText, type XmlElement } from '../object-store/xml.ts'
import { type S3Config, createS3Problem } from './s3-problems.ts'
import { signHeaders, type SigningKeys } from './sign-request.ts'

/** Creates a connector that reads files of Amazon S3, or of a store with a compatible API. */
export const createS3Connector = (context: StoreContext): Connector =>
  createObjectStoreConnector(openBucket, { containers: 'buckets', objects: 'objects' }, context)

function openBucket({ settings, secrets }: ReadRequest, client: StoreClient): ObjectStore {
  const { objectStoreSource } = settings as Extract<SourceBody, { type: 'OBJECT_STORAGE_BUCKET' }>
  const { bucket = '', endpoint, region, pathStyle } = objectStoreSource
  const { accessKey, secretKey } = secrets
  const hasKeys = accessKey !== undefined && secretKey !== undefined
  const keys = hasKeys ? { accessKey, secretKey } : {}
  return createS3Store({ bucket, endpoint, region, pathStyle, ...keys }, client)
}

const defaultRegion = 'us-east-1'
const maxKeysPerPage = '1000'

function createS3Store(config: S3Config, send: StoreClient): ObjectStore {
  let region = config.region ?? defaultRegion
  const signingKeys: SigningKeys = new Map()
  const { host } = config.bucket === '' ? buildAccountUrl(config, region) : buildBucketUrl(config, region)

  /**
   * Sends a GET request. Throws a problem for a response status of 300 or above that is not in `expected`. If no region
   * is configured and the store returns another region, sends the request once more to that region.
   */
  async function get(
    { key, targetsAccount = false, query = {}, headers = {}, expected = [] }: StoreRequest,
    signal: AbortSignal,
    hasCorrectedRegion = false,
  ): Promise<StoreResponse> {
    const requestedRegion = region
    const url = targetsAccount ? buildAccountUrl(config, requestedRegion) : buildBucketUrl(config, requestedRegion)
    if (key !== undefined) url.pathname += encodeKey(key)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // A plus sign in a query means a space to some servers. Percent-encoded spaces mean the same to all servers, so the
    // signature stays valid.
    url.search = url.search.replaceAll('+', '%20')
    const response = await send(url, signHeaders(url, headers, config, requestedRegion, signingKeys), signal)
    if (response.status < 300 || expected.includes(response.status)) return response
    const errorResponse = parseErrorResponse(response.status, response.headers, await response.text(), url.host)
    const { region: returnedRegion } = errorResponse
    const canCorrectRegion = !hasCorrectedRegion && config.region === undefined
    // Compares with the region of this request, because a concurrent request may already have corrected the shared
    // region.
    const isOtherRegion = returnedRegion && returnedRegion !== requestedRegion && isRegion(returnedRegion)
    if (canCorrectRegion && isOtherRegion) {
      region = returnedRegion
      return get({ ...(key !== undefined && { key }), targetsAccount, query, headers, expected }, signal, true)
    }
    throw createS3Problem(errorResponse, { config, host: url.host, targetsAccount, ...(key !== undefined && { key }) })
  }

  async function list(
    prefix: string,
    next: string | undefined,
    signal: AbortSignal,
    extraQuery: Record<string, string> = {},
  ): Promise<ListedFolder> {
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': maxKeysPerPage,
      prefix,
      ...extraQuery,
      ...(next !== undefined && { 'continuation-token': next }),
    }
    const response = await get({ query }, signal)
    return parseObjectList(parseXml(await response.text(), host))
  }

  return createObjectStore({
    host,
    get,
    list: (prefix, next, signal) => list(prefix, next, signal),
    listFolder: (prefix, next, signal) => list(prefix, next, signal, { delimiter: '/' }),
    async listContainers(_next, signal) {
      // S3 lists all buckets of an account in one response.
      const response = await get({ targetsAccount: true }, signal)
      const buckets = findChild(parseXml(await response.text(), host), 'Buckets')?.children ?? []
      return { names: buckets.map((bucket) => getChildText(bucket, 'Name')), next: undefined }
    },
    close: () => send[Symbol.asyncDispose](),
  })
}

/** True if the text is a valid region name. It is checked because it becomes a part of a host name. */
const isRegion = (name: string): boolean => /^[a-z0-9-]{1,40}$/.test(name)

/** Parses a page of the list of objects. `next` is undefined on the last page. */
function parseObjectList(page: XmlElement): ListedFolder {
  const isEncoded = getChildText(page, 'EncodingType') === 'url'
  const decode = (key: string) => (isEncoded ? decodeKey(key) : key)
  const objects = page.children
    .filter(({ name }) => name === 'Contents')
    .map((entry): StoredObject => {
      const key = getChildText(entry, 'Key')
      return {
        key: decode(key),
        size: parseSize(getChildText(entry, 'Size')),
        etag: getChildText(entry, 'ETag'),
        lastModified: parseObjectTime(getChildText(entry, 'LastModified')),
      }
    })
  const folders = page.children
    .filter(({ name }) => name === 'CommonPrefixes')
    .map((entry) => decode(getChildText(entry, 'Prefix')))
  const isTruncated = getChildText(page, 'IsTruncated') === 'true'
  return { objects, folders, next: isTruncated ? findChild(page, 'NextContinuationToken')?.text : undefined }
}

/** Decodes a percent-encoded key. Returns an invalid one unchanged. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return key
  }
}

/**
 * Returns the URL of the bucket in a region. The bucket is in the path instead of the host name for most compatible
 * stores, and if its name contains a dot, because Amazon's certificates do not cover such host names.
 */
export function buildBucketUrl({ bucket, endpoint, pathStyle }: S3Config, region: string): URL {
  const url = new URL(endpoint ?? buildAmazonUrl(region))
  const isBucketInPath = pathStyle ?? (endpoint !== undefined || bucket.includes('.'))
  url.search = ''
  if (!isBucketInPath) url.hostname = `${bucket}.${url.hostname}`
  const folder = url.pathname.replace(/\/+$/, '')
  url.pathname = isBucketInPath ? `${folder}/${encodeURIComponent(bucket)}/` : `${folder}/`
  return url
}

/** Returns the URL of the account, for listing its buckets. */
function buildAccountUrl({ endpoint }: S3Config, region: string): URL {
  const url = new URL(endpoint ?? buildAmazonUrl(region))
  url.search = ''
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/`
  return url
}

function buildAmazonUrl(region: string): string {
  // Regions in China have a domain of their own.
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return `https://s3.${region}.${domain}`
}
