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

type S3Explanation = [code: string, sentence: (request: S3Request) => string]

const formatSubject = ({ key, config, targetsAccount }: S3Request): string =>
  targetsAccount ? 'the list of buckets' : key === undefined ? `bucket "${config.bucket}"` : `"${key}"`

const noKey: S3Explanation = [
  'AUTHENTICATION_FAILED',
  ({ host }) => `${host} does not know the access key. Correct it.`,
]
const otherRegion: S3Explanation = [
  'OTHER_REGION',
  ({ config }) => `Bucket "${config.bucket}" is in another region than "${config.region ?? ''}". Correct the region.`,
]
const noPermission: S3Explanation = [
  'PERMISSION_DENIED',
  (request) =>
    request.config.accessKey === undefined
      ? `Anonymous reads of ${formatSubject(request)} are not allowed. Enter an access key and its secret key.`
      : `The access key may not ${request.key === undefined ? 'list' : 'read'} ${formatSubject(request)}, or it does not exist. Check the name, and allow the actions s3:GetObject and s3:ListBucket.`,
]
const noBucketList: S3Explanation = [
  'PERMISSION_DENIED',
  ({ config, host }) =>
    config.accessKey === undefined
      ? 'Buckets can only be listed with an access key. Enter the name of the bucket, or an access key and its secret key.'
      : `${host} does not list buckets for this access key. Enter the name of the bucket, or allow the action s3:ListAllMyBuckets.`,
]
const noObject: S3Explanation = [
  'OBJECT_MISSING',
  ({ key, config }) => `Bucket "${config.bucket}" has no object "${key ?? ''}". Check the name of the object.`,
]
const noBucket: S3Explanation = [
  'BUCKET_MISSING',
  ({ config, host }) => `The bucket "${config.bucket}" does not exist at ${host}. Check its name and the endpoint.`,
]

const explanationByCode: Readonly<Record<string, S3Explanation>> = {
  NoSuchBucket: noBucket,
  NoSuchKey: noObject,
  InvalidAccessKeyId: noKey,
  InvalidToken: noKey,
  ExpiredToken: ['AUTHENTICATION_FAILED', () => 'The access key has expired. Enter a new one.'],
  SignatureDoesNotMatch: [
    'AUTHENTICATION_FAILED',
    ({ host }) =>
      `${host} rejected the access key and its secret key. Check both; one may have been copied incompletely.`,
  ],
  RequestTimeTooSkewed: [
    'CLOCK_WRONG',
    ({ host }) =>
      `The clocks of the Sluice server and of ${host} differ too much for a valid signature. Ask an operator to correct the clock of the Sluice server.`,
  ],
  AccessDenied: noPermission,
  AllAccessDisabled: noPermission,
  AccountProblem: noPermission,
  InvalidObjectState: ['OBJECT_ARCHIVED', ({ key }) => `"${key ?? ''}" is archived. Restore it, then run again.`],
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  IllegalLocationConstraintException: otherRegion,
  KeyTooLongError: noObject,
  InvalidBucketName: noBucket,
}

const byStatus: Readonly<Record<number, S3Explanation>> = { 301: otherRegion, 401: noKey, 403: noPermission }

/** True if the error concerns the access key itself. */
const isKeyProblem = (code: string): boolean =>
  Object.hasOwn(explanationByCode, code) && explanationByCode[code] !== noPermission

/**
 * Returns the problem for an error response. Its message contains neither the secret key nor a signature, even if the
 * store's response repeats them.
 */
export function createS3Problem(refusal: StoreErrorResponse, request: S3Request): SourceProblem | TransientError {
  const { status, code, region } = refusal
  const { config, host, key } = request
  const isListRefused =
    request.targetsAccount && (status === 403 || status === 404 || status === 405) && !isKeyProblem(code)
  if (isListRefused) return new SourceProblem(noBucketList[0], noBucketList[1](request))
  const missingExplanation = status === 404 ? (key === undefined ? noBucket : noObject) : undefined
  const explained =
    (Object.hasOwn(explanationByCode, code) ? explanationByCode[code] : undefined) ??
    missingExplanation ??
    byStatus[status]
  if (!explained)
    return createStatusProblem(refusal, {
      host,
      action: formatSubject(request),
      secrets: [config.secretKey, config.accessKey],
    })
  const regionText = explained === otherRegion && region ? ` The bucket is in "${region.slice(0, 50)}".` : ''
  return new SourceProblem(explained[0], explained[1](request) + regionText)
}
