import { secretUrl, type Setting, SettingsProblem, urlSetting } from '@sluice/process'
import type { RedshiftSettings } from '@sluice/warehouses/redshift/redshift-settings'

const optionalText = (pattern: RegExp, wanted: string, secret = false): Setting<string | undefined> => ({
  secret,
  fallback: undefined,
  parse(text) {
    if (!pattern.test(text)) throw new Error(`must be ${wanted}`)
    return text
  },
})

/**
 * The settings of a Redshift warehouse: the cluster with a superuser, and the S3 bucket for staged rows. All are
 * undefined if Redshift is not used.
 */
export const redshiftSettingShape = {
  REDSHIFT_URL: secretUrl(['postgres:', 'postgresql:']),
  REDSHIFT_STAGING: optionalText(
    /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9_./-]*)?$/,
    'a bucket and a prefix, like s3://bucket/prefix',
  ),
  /** The IAM role with which the cluster reads the bucket. */
  REDSHIFT_ROLE: optionalText(
    /^(default|arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+(,arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+)*)$/,
    'the ARN of a role, like arn:aws:iam::123456789012:role/loader, or the word default',
  ),
  REDSHIFT_REGION: optionalText(/^[a-z]{2}(-[a-z]+)+-\d$/, 'the region of the bucket, like eu-west-1'),
  REDSHIFT_ACCESS_KEY_ID: optionalText(/^\S+$/, 'an access key without blanks', true),
  REDSHIFT_SECRET_ACCESS_KEY: optionalText(/^\S+$/, 'a secret key without blanks', true),
  /** The endpoint of the bucket, if it is not on Amazon S3. */
  REDSHIFT_STAGING_ENDPOINT: {
    fallback: undefined,
    parse: (text: string) => urlSetting(['http:', 'https:']).parse(text),
  } satisfies Setting<string | undefined>,
}

type RedshiftValues = Readonly<Record<keyof typeof redshiftSettingShape, string | undefined>>

/**
 * Returns the Redshift settings, or undefined if none is set. Throws `SettingsProblem` if a required one is missing.
 */
export function parseRedshiftSettings(values: RedshiftValues): RedshiftSettings | undefined {
  const { REDSHIFT_URL, REDSHIFT_STAGING, REDSHIFT_REGION, REDSHIFT_ACCESS_KEY_ID, REDSHIFT_SECRET_ACCESS_KEY } = values
  const firstSet = Object.keys(redshiftSettingShape).find((name) => values[name as keyof RedshiftValues] !== undefined)
  if (firstSet === undefined) return undefined
  if (REDSHIFT_URL === undefined)
    throw new SettingsProblem([`REDSHIFT_URL is missing: ${firstSet} is set, so set both or none`])
  const required = { REDSHIFT_STAGING, REDSHIFT_REGION, REDSHIFT_ACCESS_KEY_ID, REDSHIFT_SECRET_ACCESS_KEY }
  const missing = Object.entries(required).filter(([, value]) => value === undefined)
  if (missing.length > 0)
    throw new SettingsProblem(missing.map(([name]) => `${name} is missing: REDSHIFT_URL is set, so set ${name}`))
  return {
    url: REDSHIFT_URL,
    staging: REDSHIFT_STAGING!,
    role: values.REDSHIFT_ROLE ?? 'default',
    region: REDSHIFT_REGION!,
    accessKey: REDSHIFT_ACCESS_KEY_ID!,
    secretKey: REDSHIFT_SECRET_ACCESS_KEY!,
    endpoint: values.REDSHIFT_STAGING_ENDPOINT,
  }
}
