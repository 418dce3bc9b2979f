import type { StoreClient, StoreResponse } from '../object-store/store-client.ts'
import { type StoreRequest, encodeKey, objectStore } from '../object-store/store-requests.ts'
import type { ListedPage, ObjectStore, StoredObject } from '../object-store/object-store.ts'
import { lengthOf, momentOf } from '../object-store/read-range.ts'
import { parseErrorResponse } from '../object-store/error-response.ts'
import { type XmlElement, childOf, parseXml, textOf } from '../object-store/xml.ts'
import { type S3Config, bucketAddress, firstRegion } from './s3-config.ts'
import { s3Problem } from './s3-problems.ts'
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { assertAccessKey } from '../object-store/assert-access-key.ts'

const onePage = '1000'

/** A bucket of Amazon S3, or of a store that speaks its protocol. */
export function s3Store(config: S3Config, ask: StoreClient): ObjectStore {
  let region = firstRegion(config)
  const { host } = bucketAddress(config, region)

  /** Throws a problem for each status from 300 that is not expected. Corrects a region once if no region is configured. */
  async function get(
    { key, query = {}, headers = {}, expected = [] }: StoreRequest,
    signal: AbortSignal,
    corrected = false,
  ): Promise<StoreResponse> {
    const asked = region
    const url = bucketAddress(config, asked)
    if (key !== undefined) url.pathname += encodeKey(key)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // The URL must match its signature: some servers read a plus in a query as a space, others as a plus.
    url.search = url.search.replaceAll('+', '%20')
    const answer = await ask(url, await signed(url, headers, config, asked), signal)
    if (answer.status < 300 || expected.includes(answer.status)) return answer
    const refusal = parseErrorResponse(answer.status, answer.headers, await answer.text(), url.host)
    if (
      !corrected &&
      config.region === undefined &&
      refusal.region &&
      // Concurrent requests are each corrected, regardless of the order of their responses.
      refusal.region !== asked &&
      isRegion(refusal.region)
    ) {
      region = refusal.region
      return get({ ...(key !== undefined && { key }), query, headers, expected }, signal, true)
    }
    throw s3Problem(refusal, { config, host: url.host, ...(key !== undefined && { key }) })
  }

  return objectStore({
    host,
    get,
    async list(prefix, next, signal) {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': onePage,
        prefix,
        ...(next !== undefined && { 'continuation-token': next }),
      }
      const answer = await get({ query }, signal)
      return pageOf(parseXml(await answer.text(), host))
    },
    close: () => ask[Symbol.asyncDispose](),
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
        key: isEncoded ? decodedKey(key) : key,
        size: lengthOf(textOf(entry, 'Size')),
        etag: textOf(entry, 'ETag'),
        lastModified: momentOf(textOf(entry, 'LastModified')),
      }
    })
  const goesOn = textOf(page, 'IsTruncated') === 'true'
  return { objects, next: goesOn ? childOf(page, 'NextContinuationToken')?.text : undefined }
}

function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return key
  }
}

const nothing = createHash('sha256').digest('hex')

/** Signs the headers of a GET with AWS Signature Version 4; anonymous requests are not signed. Throws SourceProblem. */
export async function signed(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { accessKey, secretKey }: S3Config,
  region: string,
): Promise<Headers> {
  if (accessKey === undefined || secretKey === undefined) return new Headers(headers)
  const signer = new AwsV4Signer({
    method: 'GET',
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': nothing },
    accessKeyId: assertAccessKey(accessKey),
    secretAccessKey: secretKey,
    service: 's3',
    region,
  })
  return (await signer.sign()).headers
}
