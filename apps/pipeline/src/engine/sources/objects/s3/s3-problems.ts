import { PassingTrouble, retryAfter } from '../passing-trouble.ts'
import { SourceProblem } from '../../source.ts'
import { childOf, parseXml, textOf } from '../xml.ts'
import type { S3Config } from './s3-config.ts'

/** What a store says is wrong. */
export interface S3Refusal {
  status: number
  /** As `NoSuchKey`; empty where it gives none. */
  code: string
  words: string
  /** Where the bucket is, if that is what is wrong. */
  region: string | undefined
}

interface Scene {
  config: S3Config
  host: string
  /** Which object was asked for; absent for lists. */
  key?: string
}

type Explained = [code: string, sentence: (scene: Scene) => string]

const named = ({ key, config }: Scene): string => (key === undefined ? `bucket "${config.bucket}"` : `"${key}"`)

const noKey: Explained = [
  'AUTHENTICATION_FAILED',
  ({ host, config }) => `${host} does not know the access key "${config.accessKey ?? ''}". Check it.`,
]
const otherRegion: Explained = [
  'OTHER_REGION',
  ({ config }) => `Bucket "${config.bucket}" is in another region than "${config.region ?? ''}". Correct the region.`,
]
const forbidden: Explained = [
  'PERMISSION_DENIED',
  (scene) =>
    scene.config.accessKey === undefined
      ? `Not everybody may read ${named(scene)}: give an access key and its secret key.`
      : `The access key "${scene.config.accessKey}" may not ${scene.key === undefined ? 'list' : 'read'} ${named(scene)}, or it does not exist. Allow it s3:GetObject and s3:ListBucket, and check the key.`,
]
const noObject: Explained = [
  'OBJECT_MISSING',
  ({ key, config }) => `Bucket "${config.bucket}" has no object "${key ?? ''}". Check the key.`,
]
const noBucket: Explained = [
  'BUCKET_MISSING',
  ({ config, host }) => `There is no bucket "${config.bucket}" at ${host}. Check its name and the endpoint.`,
]

const known: Readonly<Record<string, Explained>> = {
  NoSuchBucket: noBucket,
  NoSuchKey: noObject,
  InvalidAccessKeyId: noKey,
  InvalidToken: noKey,
  ExpiredToken: ['AUTHENTICATION_FAILED', () => 'The access key has expired. Give a new one.'],
  SignatureDoesNotMatch: [
    'AUTHENTICATION_FAILED',
    ({ host, config }) =>
      `${host} does not take the access key "${config.accessKey ?? ''}" with this secret key. Check both, and that they were copied whole.`,
  ],
  RequestTimeTooSkewed: [
    'CLOCK_WRONG',
    ({ host }) =>
      `The clocks of this service and of ${host} differ too much for signatures. An operator has to set them.`,
  ],
  AccessDenied: forbidden,
  AllAccessDisabled: forbidden,
  AccountProblem: forbidden,
  InvalidObjectState: [
    'OBJECT_ARCHIVED',
    ({ key }) => `"${key ?? ''}" is in an archive, from which it has to be restored first.`,
  ],
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  IllegalLocationConstraintException: otherRegion,
  KeyTooLongError: noObject,
  InvalidBucketName: noBucket,
}

const byStatus: Readonly<Record<number, Explained>> = { 301: otherRegion, 401: noKey, 403: forbidden }
const passing = new Set([408, 425, 429, 500, 502, 503, 504])
const passingCodes = new Set(['SlowDown', 'RequestTimeout', 'InternalError', 'ServiceUnavailable', 'OperationAborted'])

/** Reads an answer that is no success. */
export function readRefusal(status: number, headers: Headers, body: string, host: string): S3Refusal {
  const region = headers.get('x-amz-bucket-region') ?? undefined
  if (!/^\s*</.test(body) || /^\s*<(!doctype|html)/i.test(body)) return { status, code: '', words: '', region }
  const error = parseXml(body, host)
  const found = error.name === 'Error' ? error : childOf(error, 'Error')
  if (!found) return { status, code: '', words: '', region }
  return {
    status,
    code: textOf(found, 'Code'),
    words: textOf(found, 'Message'),
    region: region ?? (textOf(found, 'Region') || undefined),
  }
}

/** The problem that it is. Neither the secret key nor a signature stands in it, whatever the store sent back. */
export function s3Problem(
  { status, code, words, region }: S3Refusal,
  headers: Headers,
  scene: Scene,
): SourceProblem | PassingTrouble {
  const { config, host, key } = scene
  const missing = status === 404 ? (key === undefined ? noBucket : noObject) : undefined
  const explained = (Object.hasOwn(known, code) ? known[code] : undefined) ?? missing ?? byStatus[status]
  if (explained) {
    const where = explained === otherRegion && region ? ` It is in "${region.slice(0, 50)}".` : ''
    return new SourceProblem(explained[0], explained[1](scene) + where)
  }
  const said = [code, words].filter(Boolean).join(': ').replaceAll(/\s+/g, ' ').slice(0, 300)
  const shown = config.secretKey ? said.replaceAll(config.secretKey, '…') : said
  const problem = new SourceProblem(
    status === 429 ? 'TOO_MANY_REQUESTS' : 'STORE_FAILED',
    `${host} answers ${status} when asked for ${named(scene)}.${shown ? ` It says: ${shown}` : ''}`,
  )
  return passing.has(status) || passingCodes.has(code) ? new PassingTrouble(problem, retryAfter(headers)) : problem
}
