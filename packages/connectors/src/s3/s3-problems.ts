import type { TransientError } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import { type StoreErrorResponse, unexplained } from '../object-store/object-store.ts'

/** A bucket and its credentials. */
export interface S3Config {
  bucket: string
  /** Amazon's endpoint if absent. */
  endpoint?: string | undefined
  /** Detected if absent. */
  region?: string | undefined
  /** Whether the bucket is part of the path. The default depends on the kind of endpoint. */
  pathStyle?: boolean | undefined
  /** Both keys, or neither for anonymous requests. */
  accessKey?: string | undefined
  secretKey?: string | undefined
}

interface S3Request {
  config: S3Config
  host: string
  key?: string
}

type S3Explanation = [code: string, sentence: (scene: S3Request) => string]

const named = ({ key, config }: S3Request): string => (key === undefined ? `bucket "${config.bucket}"` : `"${key}"`)

const noKey: S3Explanation = ['AUTHENTICATION_FAILED', ({ host }) => `${host} does not know the access key. Check it.`]
const otherRegion: S3Explanation = [
  'OTHER_REGION',
  ({ config }) => `Bucket "${config.bucket}" is in another region than "${config.region ?? ''}". Correct the region.`,
]
const forbidden: S3Explanation = [
  'PERMISSION_DENIED',
  (scene) =>
    scene.config.accessKey === undefined
      ? `Anonymous reads of ${named(scene)} are not allowed. Give an access key and its secret key.`
      : `The access key may not ${scene.key === undefined ? 'list' : 'read'} ${named(scene)}, or it does not exist. Allow it s3:GetObject and s3:ListBucket, and check the key.`,
]
const noObject: S3Explanation = [
  'OBJECT_MISSING',
  ({ key, config }) => `Bucket "${config.bucket}" has no object "${key ?? ''}". Check the key.`,
]
const noBucket: S3Explanation = [
  'BUCKET_MISSING',
  ({ config, host }) => `The bucket "${config.bucket}" does not exist at ${host}. Check its name and the endpoint.`,
]

const known: Readonly<Record<string, S3Explanation>> = {
  NoSuchBucket: noBucket,
  NoSuchKey: noObject,
  InvalidAccessKeyId: noKey,
  InvalidToken: noKey,
  ExpiredToken: ['AUTHENTICATION_FAILED', () => 'The access key has expired. Give a new one.'],
  SignatureDoesNotMatch: [
    'AUTHENTICATION_FAILED',
    ({ host }) =>
      `${host} rejected the access key and its secret key. Check both; one may have been copied incompletely.`,
  ],
  RequestTimeTooSkewed: [
    'CLOCK_WRONG',
    ({ host }) =>
      `The clocks of this service and of ${host} differ too much for signatures. An operator must correct them.`,
  ],
  AccessDenied: forbidden,
  AllAccessDisabled: forbidden,
  AccountProblem: forbidden,
  InvalidObjectState: ['OBJECT_ARCHIVED', ({ key }) => `"${key ?? ''}" is archived. Restore it first.`],
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  IllegalLocationConstraintException: otherRegion,
  KeyTooLongError: noObject,
  InvalidBucketName: noBucket,
}

const byStatus: Readonly<Record<number, S3Explanation>> = { 301: otherRegion, 401: noKey, 403: forbidden }

/** Returns the problem for an error response. It contains neither the secret key nor a signature, whatever the store sent back. */
export function s3Problem(refusal: StoreErrorResponse, scene: S3Request): SourceProblem | TransientError {
  const { status, code, region } = refusal
  const { config, host, key } = scene
  const missing = status === 404 ? (key === undefined ? noBucket : noObject) : undefined
  const explained = (Object.hasOwn(known, code) ? known[code] : undefined) ?? missing ?? byStatus[status]
  if (!explained)
    return unexplained(refusal, { host, what: named(scene), secrets: [config.secretKey, config.accessKey] })
  const where = explained === otherRegion && region ? ` It is in "${region.slice(0, 50)}".` : ''
  return new SourceProblem(explained[0], explained[1](scene) + where)
}
