import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { WarehouseProblem } from '../warehouse.ts'
import type { StagingLocation } from './redshift-settings.ts'

/** Milliseconds before each retry, if the object store did not respond or reported a temporary failure. */
const retryDelaysMs = [200, 1_000, 4_000]
/** The time limit of one request, in milliseconds. */
const requestTimeoutMs = 300_000

/** A request to the S3 API. Without a key, it concerns the bucket. */
interface BucketRequest {
  method: 'GET' | 'PUT' | 'DELETE'
  key?: string
  query?: Readonly<Record<string, string>>
  body?: Buffer<ArrayBuffer>
}

/** The bucket from which the cluster copies rows. Errors are `WarehouseProblem`s. */
export interface StagingBucket {
  put(key: string, body: Buffer<ArrayBuffer>, signal: AbortSignal): Promise<void>
  /** Removes an object. Succeeds if the object does not exist. */
  remove(key: string): Promise<void>
  /** Returns the keys of all objects that start with `prefix`. */
  list(prefix: string): Promise<string[]>
}

/** Returns the operations on the staging bucket. */
export function bucketOf(location: StagingLocation): StagingBucket {
  const request = (operation: BucketRequest, signal?: AbortSignal) => requestWithRetry(location, operation, signal)
  return {
    put: async (key, body, signal) => void (await request({ method: 'PUT', key, body }, signal)),
    remove: async (key) => void (await request({ method: 'DELETE', key })),
    async list(prefix) {
      const keys: string[] = []
      let token: string | undefined
      for (;;) {
        const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) }
        const page = await request({ method: 'GET', query })
        // Sluice's object keys contain only characters that XML does not escape.
        keys.push(...[...page.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!))
        token = /<NextContinuationToken>([^<]*)</.exec(page)?.[1]
        if (token === undefined) return keys
      }
    },
  }
}

/** Returns the URL of an object or of the bucket, in the form with the bucket's name in the path. */
function buildUrl({ bucket, region, endpoint }: StagingLocation, { key = '', query = {} }: BucketRequest): URL {
  const topLevelDomain = region.startsWith('cn-') ? 'com.cn' : 'com'
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.${topLevelDomain}`)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${bucket}/${key}`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  // S3's signature requires %20 for a blank.
  url.search = url.search.replaceAll('+', '%20')
  return url
}

/**
 * Returns the response body. Repeats the request after temporary failures. Throws `WarehouseProblem`, and the signal's
 * reason on abort.
 */
async function requestWithRetry(
  location: StagingLocation,
  operation: BucketRequest,
  signal?: AbortSignal,
): Promise<string> {
  for (let failedTries = 0; ; failedTries += 1) {
    signal?.throwIfAborted()
    const response = await requestOnce(location, operation, signal).catch((error: unknown) => {
      signal?.throwIfAborted()
      return error instanceof Error ? error : new Error(String(error))
    })
    if (typeof response === 'string') return response
    const retryDelayMs = retryDelaysMs[failedTries]
    if (!isTemporary(response) || retryDelayMs === undefined) throw bucketProblem(location, response)
    await sleep(retryDelayMs, undefined, { ...(signal && { signal }) }).catch(() => {})
  }
}

/** An error response of the store, with S3's error code, such as `AccessDenied`. */
interface BucketRefusal {
  status: number
  code: string
}

/** True if repeating the request may succeed. */
const isTemporary = (response: BucketRefusal | Error): boolean =>
  response instanceof Error || response.status >= 500 || response.status === 429

/** Returns the response body, or the status and error code if the store rejected the request. */
async function requestOnce(
  location: StagingLocation,
  operation: BucketRequest,
  signal?: AbortSignal,
): Promise<string | BucketRefusal> {
  const { method, body } = operation
  const url = buildUrl(location, operation)
  const digest = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: { 'x-amz-content-sha256': digest },
    accessKeyId: location.accessKey,
    secretAccessKey: location.secretKey,
    service: 's3',
    region: location.region,
  })
  const timeoutSignal = AbortSignal.timeout(requestTimeoutMs)
  const response = await fetch(url, {
    method,
    headers: (await signer.sign()).headers,
    signal: signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal,
    ...(body && { body }),
  })
  const text = await response.text()
  const isAlreadyDeleted = method === 'DELETE' && response.status === 404
  if (response.ok || isAlreadyDeleted) return text
  return { status: response.status, code: /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1] ?? '' }
}

/** Returns the problem of a failed bucket request. Its message contains neither the secret key nor a signature. */
function bucketProblem({ bucket }: StagingLocation, response: BucketRefusal | Error): WarehouseProblem {
  if (response instanceof Error || isTemporary(response))
    return new WarehouseProblem(
      'WAREHOUSE_UNAVAILABLE',
      'The staging bucket for Redshift is unreachable. Try again in a moment.',
      { retryable: true, cause: response instanceof Error ? response : undefined },
    )
  return new WarehouseProblem(
    'WAREHOUSE_ACCESS_DENIED',
    `Sluice cannot access the staging bucket "${bucket}" for Redshift (${response.status}${response.code && ` ${response.code}`}). An operator has to check REDSHIFT_STAGING, its region and keys.`,
  )
}
