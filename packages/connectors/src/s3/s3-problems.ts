import type { TransientError } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import { type StoreErrorResponse, createStatusProblem } from '../object-store/object-store.ts'

/** The address of a bucket and its credentials. */
export interface S3Config {
  bucket: string
  /** The store's endpoint. Default: Amazon S3. */
  endpoint?: string | undefined
  /** The bucket's region. Default: detected from the store's responses. */
  region?: string | undefined
  /** True if the bucket is part of the path instead of the host name. The default depends on the endpoint. */
  pathStyle?: boolean | undefined
  /** Requests are signed with the access key and the secret key. They are anonymous if both are absent. */
  accessKey?: string | undefined
  secretKey?: string | undefined
}

interface S3Request {
  config: S3Config
  host: string
  key?: string
  /** True if the request listed the buckets. */
  targetsAccount?: boolean
}

/** The code and message of the problem that a user sees for an error response. */
interface S3Explanation {
  code: string
  formatMessage: (request: S3Request) => string
}

function formatSubject({ key, config, targetsAccount }: S3Request): string {
  if (targetsAccount) return 'the list of buckets'
  return key === undefined ? `bucket "${config.bucket}"` : `"${key}"`
}

const accessKeyRejected: S3Explanation = {
  code: 'AUTHENTICATION_FAILED',
  formatMessage: ({ host }) => `${host} does not know the access key. Correct it.`,
}
const otherRegion: S3Explanation = {
  code: 'OTHER_REGION',
  formatMessage: ({ config }) =>
    `Bucket "${config.bucket}" is in another region than "${config.region ?? ''}". Correct the region.`,
}
const accessDenied: S3Explanation = {
  code: 'PERMISSION_DENIED',
  formatMessage: (request) =>
    request.config.accessKey === undefined
      ? `Anonymous reads of ${formatSubject(request)} are not allowed. Enter an access key and its secret key.`
      : `The access key may not ${request.key === undefined ? 'list' : 'read'} ${formatSubject(request)}, or it does not exist. Check the name, and allow the actions s3:GetObject and s3:ListBucket.`,
}
const bucketListDenied: S3Explanation = {
  code: 'PERMISSION_DENIED',
  formatMessage: ({ config, host }) =>
    config.accessKey === undefined
      ? 'Buckets can only be listed with an access key. Enter the name of the bucket, or an access key and its secret key.'
      : `${host} does not list buckets for this access key. Enter the name of the bucket, or allow the action s3:ListAllMyBuckets.`,
}
const objectMissing: S3Explanation = {
  code: 'OBJECT_MISSING',
  formatMessage: ({ key, config }) =>
    `Bucket "${config.bucket}" has no object "${key ?? ''}". Check the name of the object.`,
}
const bucketMissing: S3Explanation = {
  code: 'BUCKET_MISSING',
  formatMessage: ({ config, host }) =>
    `The bucket "${config.bucket}" does not exist at ${host}. Check its name and the endpoint.`,
}

const explanationsByCode: Readonly<Record<string, S3Explanation>> = {
  NoSuchBucket: bucketMissing,
  NoSuchKey: objectMissing,
  InvalidAccessKeyId: accessKeyRejected,
  InvalidToken: accessKeyRejected,
  ExpiredToken: {
    code: 'AUTHENTICATION_FAILED',
    formatMessage: () => 'The access key has expired. Enter a new one.',
  },
  SignatureDoesNotMatch: {
    code: 'AUTHENTICATION_FAILED',
    formatMessage: ({ host }) =>
      `${host} rejected the access key and its secret key. Check both; one may have been copied incompletely.`,
  },
  RequestTimeTooSkewed: {
    code: 'CLOCK_WRONG',
    formatMessage: ({ host }) =>
      `The clocks of the Sluice server and of ${host} differ too much for a valid signature. Ask an operator to correct the clock of the Sluice server.`,
  },
  AccessDenied: accessDenied,
  AllAccessDisabled: accessDenied,
  AccountProblem: accessDenied,
  InvalidObjectState: {
    code: 'OBJECT_ARCHIVED',
    formatMessage: ({ key }) => `"${key ?? ''}" is archived. Restore it, then run again.`,
  },
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  IllegalLocationConstraintException: otherRegion,
  KeyTooLongError: objectMissing,
  InvalidBucketName: bucketMissing,
}

const explanationsByStatus: Readonly<Record<number, S3Explanation>> = {
  301: otherRegion,
  401: accessKeyRejected,
  403: accessDenied,
}

/** True if the error concerns the access key itself. */
const isKeyProblem = (code: string): boolean =>
  Object.hasOwn(explanationsByCode, code) && explanationsByCode[code] !== accessDenied

/**
 * Returns the problem for an error response. Its message contains neither the secret key nor a signature, even if the
 * store's response repeats them.
 */
export function createS3Problem(response: StoreErrorResponse, request: S3Request): SourceProblem | TransientError {
  const explanation = findExplanation(response, request)
  const { config, host } = request
  if (!explanation)
    return createStatusProblem(response, {
      host,
      action: formatSubject(request),
      secrets: [config.secretKey, config.accessKey],
    })
  const { region } = response
  const regionText = explanation === otherRegion && region ? ` The bucket is in "${region.slice(0, 50)}".` : ''
  return new SourceProblem(explanation.code, explanation.formatMessage(request) + regionText)
}

/** Returns the explanation of an error response, or undefined if neither its code nor its status is known. */
function findExplanation(
  { status, code }: StoreErrorResponse,
  { key, targetsAccount }: S3Request,
): S3Explanation | undefined {
  // Some stores respond with “not found” or “method not allowed” if the account may not list its buckets.
  const isDenied = status === 403 || status === 404 || status === 405
  if (targetsAccount && isDenied && !isKeyProblem(code)) return bucketListDenied
  if (Object.hasOwn(explanationsByCode, code)) return explanationsByCode[code]
  if (status === 404) return key === undefined ? bucketMissing : objectMissing
  return explanationsByStatus[status]
}
