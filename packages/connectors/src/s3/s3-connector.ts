import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import type { SourceBody } from '@sluice/contracts'
import type { Connector, ReadRequest } from '../connector.ts'
import { assertAccessKey } from '../object-store/assert-access-key.ts'
import { objectStoreConnector, type StoreContext } from '../object-store/object-store-connector.ts'
import {
  encodeKey,
  lengthOf,
  type ListedPage,
  momentOf,
  objectStore,
  type ObjectStore,
  parseErrorResponse,
  type StoredObject,
  type StoreRequest,
} from '../object-store/object-store.ts'
import type { StoreClient, StoreResponse } from '../object-store/store-client.ts'
import { childOf, parseXml, textOf, type XmlElement } from '../object-store/xml.ts'
import { type S3Config, s3Problem } from './s3-problems.ts'

/** Reads files of Amazon S3, or of a store that speaks its protocol. */
export const s3Connector = (context: StoreContext): Connector => objectStoreConnector(openBucket, context)

function openBucket({ settings, secrets }: ReadRequest, client: StoreClient): ObjectStore {
  const { objectStoreSource } = settings as Extract<SourceBody, { type: 'OBJECT_STORAGE_BUCKET' }>
  const { bucket = '', endpoint, region, pathStyle } = objectStoreSource
  const { accessKey, secretKey } = secrets
  const keys = accessKey !== undefined && secretKey !== undefined && { accessKey, secretKey }
  return s3Store({ bucket, endpoint, region, pathStyle, ...keys }, client)
}

const defaultRegion = 'us-east-1'
const maxKeysOfPage = '1000'

function s3Store(config: S3Config, send: StoreClient): ObjectStore {
  let region = config.region ?? defaultRegion
  const { host } = bucketAddress(config, region)

  /** Throws a problem for each status from 300 that is not expected. Corrects a region once if no region is configured. */
  async function get(
    { key, query = {}, headers = {}, expected = [] }: StoreRequest,
    signal: AbortSignal,
    corrected = false,
  ): Promise<StoreResponse> {
    const requestedRegion = region
    const url = bucketAddress(config, requestedRegion)
    if (key !== undefined) url.pathname += encodeKey(key)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // The URL must match its signature: some servers read a plus in a query as a space, others as a plus.
    url.search = url.search.replaceAll('+', '%20')
    const response = await send(url, await signHeaders(url, headers, config, requestedRegion), signal)
    if (response.status < 300 || expected.includes(response.status)) return response
    const errorResponse = parseErrorResponse(response.status, response.headers, await response.text(), url.host)
    if (
      !corrected &&
      config.region === undefined &&
      errorResponse.region &&
      // Concurrent requests are each corrected, regardless of the order of their responses.
      errorResponse.region !== requestedRegion &&
      isRegion(errorResponse.region)
    ) {
      region = errorResponse.region
      return get({ ...(key !== undefined && { key }), query, headers, expected }, signal, true)
    }
    throw s3Problem(errorResponse, { config, host: url.host, ...(key !== undefined && { key }) })
  }

  return objectStore({
    host,
    get,
    async list(prefix, next, signal) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': maxKeysOfPage,
        prefix,
        ...(next !== undefined && { 'continuation-token': next }),
      }
      const response = await get({ query }, signal)
      return pageOf(parseXml(await response.text(), host))
    },
    close: () => send[Symbol.asyncDispose](),
  })
}

/** Whether the text can be a region. It becomes a part of a host name. */
const isRegion = (name: string): boolean => /^[a-z0-9-]{1,40}$/.test(name)

function pageOf(page: XmlElement): ListedPage {
  const isEncoded = textOf(page, 'EncodingType') === 'url'
  const objects = page.children
    .filter(({ name }) => name === 'Contents')
    .map((entry): StoredObject => {
      const key = textOf(entry, 'Key')
      return {
        key: isEncoded ? decodeKey(key) : key,
        size: lengthOf(textOf(entry, 'Size')),
        etag: textOf(entry, 'ETag'),
        lastModified: momentOf(textOf(entry, 'LastModified')),
      }
    })
  const isTruncated = textOf(page, 'IsTruncated') === 'true'
  return { objects, next: isTruncated ? childOf(page, 'NextContinuationToken')?.text : undefined }
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return key
  }
}

const hashOfEmptyBody = createHash('sha256').digest('hex')

/** Signs the headers of a GET with AWS Signature Version 4; anonymous requests are not signed. Throws SourceProblem. */
export async function signHeaders(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { accessKey, secretKey }: S3Config,
  region: string,
): Promise<Headers> {
  if (accessKey === undefined || secretKey === undefined) return new Headers(headers)
  const signer = new AwsV4Signer({
    method: 'GET',
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': hashOfEmptyBody },
    accessKeyId: assertAccessKey(accessKey),
    secretAccessKey: secretKey,
    service: 's3',
    region,
  })
  return (await signer.sign()).headers
}

/**
 * Returns the URL of the bucket in a region. The certificates of Amazon's hosts do not cover bucket names with dots, and
 * most compatible stores support buckets in paths only.
 */
export function bucketAddress({ bucket, endpoint, pathStyle }: S3Config, region: string): URL {
  const base = new URL(endpoint ?? amazon(region))
  const inPath = pathStyle ?? (endpoint !== undefined || bucket.includes('.'))
  base.search = ''
  if (!inPath) base.hostname = `${bucket}.${base.hostname}`
  const folder = base.pathname.replace(/\/+$/, '')
  base.pathname = inPath ? `${folder}/${encodeURIComponent(bucket)}/` : `${folder}/`
  return base
}

function amazon(region: string): string {
  const country = region.startsWith('cn-') ? '.cn' : ''
  return `https://s3.${region}.amazonaws.com${country}`
}
