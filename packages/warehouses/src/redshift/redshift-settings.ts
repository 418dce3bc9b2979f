import { createHmac } from 'node:crypto'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import { WarehouseProblem } from '../warehouse.ts'

/** The bucket from which the cluster fetches rows, and the credentials for writing to it. */
export interface StagingLocation {
  bucket: string
  /** The key prefix, without slashes at its start and end. May be empty. */
  prefix: string
  /** The AWS region, such as `eu-west-1`. */
  region: string
  accessKey: string
  secretKey: string
  /** The store's endpoint. Default: Amazon's. */
  endpoint?: string
}

export interface DatabaseLogin {
  user: string
  password: string
}

export interface ClientAccess {
  /** The organisation's short name in the warehouse: lower-case letters and digits. */
  key: string
  host: string
  port: number
  database: string
  /** The operator's database. Connections to it create the organisations' databases. */
  adminDatabase: string
  ssl: false | { rejectUnauthorized: boolean }
  logins: Readonly<Record<SessionRole, DatabaseLogin>>
  /** The IAM role with which the cluster reads the bucket: an ARN, several ARNs separated by commas, or `default`. */
  role: string
  staging: StagingLocation
}

/** The operator's settings of the cluster. See `ClientAccess` and `StagingLocation` for fields without a comment. */
export interface RedshiftSettings {
  /** `postgres://superuser:password@host:5439/dev?sslmode=verify-full` */
  url: string
  /** `s3://bucket/prefix` */
  staging: string
  role: string
  region: string
  accessKey: string
  secretKey: string
  endpoint?: string | undefined
}

interface RoleCredentials {
  key: string
  loadPassword: string
  readPassword: string
}

/**
 * Returns the address and credentials of one organisation's database. The Redshift passwords are derived from the
 * organisation's passwords in other warehouses, and do not reveal those.
 */
export function redshiftAccess(
  settings: RedshiftSettings,
  { key, loadPassword, readPassword }: RoleCredentials,
): ClientAccess {
  const url = new URL(settings.url)
  const deriveLogin = (role: 'load' | 'read', password: string): DatabaseLogin => ({
    user: `${databaseName(key)}_${role}`,
    // The server requires upper-case, lower-case and numeric characters.
    password: `Aa1-${createHmac('sha256', password).update('redshift').digest('base64url')}`,
  })
  return {
    key,
    // Removes the brackets of an IPv6 address.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || 5439),
    database: databaseName(key),
    adminDatabase: decodeURIComponent(url.pathname.slice(1)) || 'dev',
    ssl: parseSslMode(url.searchParams.get('sslmode')),
    logins: {
      service: { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
      load: deriveLogin('load', loadPassword),
      read: deriveLogin('read', readPassword),
    },
    role: settings.role,
    staging: { ...parseBucketUrl(settings.staging), ...bucketSettings(settings) },
  }
}

/** Returns the name of the organisation's database. The prefix distinguishes it from other databases on the cluster. */
const databaseName = (key: string): string => `sluice_${key}`

function bucketSettings({ region, accessKey, secretKey, endpoint }: RedshiftSettings) {
  return { region, accessKey, secretKey, ...(endpoint !== undefined && { endpoint }) }
}

/**
 * Parses `sslmode`: no TLS with `disable`, TLS without a check of the certificate with `require`. Otherwise the
 * certificate is verified.
 */
function parseSslMode(mode: string | null): ClientAccess['ssl'] {
  if (mode === 'disable') return false
  return { rejectUnauthorized: mode !== 'require' }
}

/** Parses `s3://bucket/prefix`. Throws WAREHOUSE_NOT_SET_UP for any other text. */
function parseBucketUrl(url: string): Pick<StagingLocation, 'bucket' | 'prefix'> {
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_./-]*))?$/.exec(url) ?? []
  if (bucket === undefined)
    throw new WarehouseProblem(
      'WAREHOUSE_NOT_SET_UP',
      'REDSHIFT_STAGING is not a bucket URL. Write it as s3://bucket/prefix.',
    )
  return { bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, '') }
}
