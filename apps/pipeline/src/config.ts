import { resolve } from 'node:path'
import { keyRing, type KeyRing } from '@sluice/database'
import { hostNames } from '@sluice/http-server/allowed-hosts'
import { outgoingAllowed } from '@sluice/http-client'
import { senderAddress, smtpUrl } from '@sluice/mail/settings'
import {
  databaseUrl,
  integerSetting,
  listSetting,
  logLevelNames,
  oneOf,
  portSetting,
  readSettings,
  SettingsProblem,
  secretSetting,
  secretUrl,
  textSetting,
  urlSetting,
  type Setting,
  parseFailpoints,
  type Trap,
} from '@sluice/process'
import { parseRedshiftSettings, redshiftSettingShape } from './redshift-settings.ts'
import { computeDefaultSlots } from './worker-slots.ts'

const secretKeys: Setting<KeyRing> = { secret: true, parse: keyRing }

const textOrNone: Setting<string | undefined> = { parse: (text) => text, fallback: undefined }

/** A setting with a host and an optional port. IPv6 addresses are in brackets. */
const hostAndPort = (defaultPort: number): Setting<{ host: string; port: number } | undefined> => ({
  fallback: undefined,
  parse(text) {
    const pattern = /^(?<host>\[[0-9a-f:.]+\]|[A-Za-z0-9.-]+)(?::(?<port>\d{1,5}))?$/i
    const { host = '', port: portText = String(defaultPort) } = pattern.exec(text)?.groups ?? {}
    const port = Number(portText)
    if (host === '' || port < 1 || port > 65_535)
      throw new Error(`must be a host or host:port, such as data.example.org:5432, not "${text}"`)
    const hostWithoutBrackets = host.replace(/^\[(.*)\]$/, '$1')
    return { host: hostWithoutBrackets, port }
  },
})

const certificateSetting: Setting<string | undefined> = {
  fallback: undefined,
  parse(text) {
    if (!/^-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----$/.test(text))
      throw new Error('must be certificates in PEM format; WAREHOUSE_PUBLIC_CERTIFICATE_FILE can name a file')
    return `${text}\n`
  },
}

/**
 * Failpoints: places in the code at which a worker crashes, hangs or fails. Only the tests of this repository set them.
 */
const failpointsSetting: Setting<Trap[]> = { parse: parseFailpoints, fallback: [] }

/** A secret in the format of Standard Webhooks: `whsec_` and the key in base64. */
const webhookSecret: Setting<Buffer | undefined> = {
  secret: true,
  fallback: undefined,
  parse(value) {
    const [, text = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? []
    const key = Buffer.from(text, 'base64')
    if (key.length < 24 || key.length > 64) throw new Error('must be whsec_ followed by 24 to 64 bytes in base64')
    return key
  },
}

/**
 * The URL of a webhook. Keeps it unchanged, because a trailing slash may matter. Treats it as a secret, because the
 * paths of webhooks may contain keys.
 */
const webhookUrl: Setting<string | undefined> = {
  secret: true,
  fallback: undefined,
  parse(text) {
    urlSetting(['https:', 'http:']).parse(text)
    return text
  },
}

/** The URL must name a dedicated SQL pool, which is a database. */
const synapseUrl: Setting<string | undefined> = {
  ...secretUrl(['mssql:', 'sqlserver:']),
  parse(text) {
    const address = urlSetting(['mssql:', 'sqlserver:']).parse(text)
    if (new URL(address).pathname.length < 2)
      throw new Error('must name a dedicated SQL pool, as in mssql://user:password@host:1433/pool')
    return address
  },
}

const settingShape = {
  PIPELINE_PORT: portSetting(3002),
  WORKER_PORT: portSetting(3003),
  LISTEN_HOST: textSetting('127.0.0.1'),
  PIPELINE_DATABASE_URL: databaseUrl(),
  /** The URL of a role in the warehouse's cluster that has CREATEDB and CREATEROLE, and no other privileges. */
  WAREHOUSE_DATABASE_URL: databaseUrl(),
  /**
   * The address at which warehouse readers (other programs) reach the server of WAREHOUSE_DATABASE_URL or its replica:
   * `host` or `host:port`.
   */
  WAREHOUSE_PUBLIC_ADDRESS: hostAndPort(5432),
  /**
   * The certificates (PEM) of the authority that signed the server's certificate. Warehouse readers then connect with
   * `verify-full`.
   */
  WAREHOUSE_PUBLIC_CERTIFICATE: certificateSetting,
  /**
   * A file that the server's pg_hba.conf includes before its own rules. Sluice writes the permitted networks of
   * warehouse readers into it.
   */
  WAREHOUSE_HBA_INCLUDE: textOrNone,
  /**
   * The HTTP interface of ClickHouse: `http://user:password@host:8123`, or https and port 8443. The user must be able
   * to create databases and users, and to grant rights.
   */
  CLICKHOUSE_URL: secretUrl(['http:', 'https:']),
  /** The address at which warehouse readers reach ClickHouse, without user and password. */
  CLICKHOUSE_PUBLIC_URL: { ...urlSetting(['http:', 'https:']), fallback: undefined } as Setting<string | undefined>,
  /**
   * A SQL Server: `mssql://user:password@host:1433`. The login must be able to create databases and logins, and to
   * grant rights. If the path names a database, organisations get schemas in it instead of databases of their own.
   */
  SQLSERVER_URL: secretUrl(['mssql:', 'sqlserver:']),
  /**
   * A dedicated SQL pool of Azure Synapse: `mssql://user:password@workspace.sql.azuresynapse.net:1433/pool`. The login
   * must own the pool and be able to create logins.
   */
  SYNAPSE_URL: synapseUrl,
  ...redshiftSettingShape,
  /** The address at which this service reaches the identity service. */
  IDENTITY_URL: urlSetting(['http:', 'https:'], 'http://localhost:3001'),
  /** The issuer in the tokens of the identity service. */
  IDENTITY_PUBLIC_URL: urlSetting(['http:', 'https:'], 'http://localhost:3001'),
  PIPELINE_PUBLIC_URL: urlSetting(['http:', 'https:'], 'http://localhost:3002'),
  SECRET_KEYS: secretKeys,
  SERVICE_SECRET: secretSetting(),
  FILES_DIRECTORY: { parse: (text: string) => resolve(text) },
  /** The maximum size of one uploaded file in bytes. */
  UPLOAD_LIMIT: integerSetting({ min: 1, max: Number.MAX_SAFE_INTEGER, fallback: 50 * 1024 ** 3 }),
  /** The maximum size of all uploaded files of one organisation in bytes. */
  CLIENT_FILES_LIMIT: integerSetting({ min: 1, max: Number.MAX_SAFE_INTEGER, fallback: 200 * 1024 ** 3 }),
  /**
   * The maximum disk space in FILES_DIRECTORY, in bytes, of all exports that one process is sending. Each organisation
   * may use half of it.
   */
  EXPORT_DISK_LIMIT: integerSetting({ min: 1, max: Number.MAX_SAFE_INTEGER, fallback: 20 * 1024 ** 3 }),
  /** Hours after which an export ends, even if someone is still reading it. */
  EXPORT_HOURS: integerSetting({ min: 1, max: 168, fallback: 24 }),
  /** The maximum size of one organisation's PostgreSQL database in bytes; 0 sets no limit. */
  CLIENT_WAREHOUSE_LIMIT: integerSetting({ min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 }),
  /** Days for which the previous version of a table is kept, so that it can be restored; 0 keeps none. */
  KEEP_PREVIOUS_DAYS: integerSetting({ min: 0, max: 365, fallback: 3 }),
  /**
   * The niceness (CPU priority) of the warehouse's PostgreSQL processes; 0 does not change it. The setting applies only
   * if the warehouse runs on the same machine and this process runs as root or as the server's user.
   */
  WAREHOUSE_NICENESS: integerSetting({ min: 0, max: 19, fallback: 0 }),
  /**
   * The number of concurrent runs in one worker. It may exceed the number of cores, because most runs wait for a source
   * or a server.
   */
  WORKER_CONCURRENCY: integerSetting({ min: 1, max: 64, fallback: computeDefaultSlots() }),
  /** The number of concurrent runs of one organisation in all workers; 0 means half of WORKER_CONCURRENCY. */
  CLIENT_CONCURRENCY: integerSetting({ min: 0, max: 64, fallback: 0 }),
  /** Seconds after which a worker without a heartbeat is considered dead and its runs are requeued. */
  WORKER_HEARTBEAT_SECONDS: integerSetting({ min: 10, max: 300, fallback: 30 }),
  /**
   * Seconds after which a run fails if its source sends no data. Database connectors have their own timeouts of up to
   * an hour.
   */
  SOURCE_SILENCE_SECONDS: integerSetting({ min: 5, max: 86_400, fallback: 3_900 }),
  /** Days for which finished runs are kept, with their logs and rejected rows. */
  RUN_RETENTION_DAYS: integerSetting({ min: 1, max: 3650, fallback: 90 }),
  /** Additional values that the Host header may have, such as the internal host name that the identity service uses. */
  ALLOWED_HOSTS: hostNames(),
  /** Addresses in the operator's network that users may configure as sources and targets. */
  OUTGOING_ALLOWED: outgoingAllowed(),
  /** The mail server for emails about failed runs. */
  SMTP_URL: smtpUrl(),
  MAIL_FROM: senderAddress(),
  /** The webhook that is called for every failed run of every organisation. */
  ALERT_WEBHOOK_URL: webhookUrl,
  ALERT_WEBHOOK_SECRET: webhookSecret,
  CORS_ORIGINS: listSetting(),
  TRUSTED_PROXIES: integerSetting({ min: 0, max: 10, fallback: 0 }),
  LOG_LEVEL: oneOf(logLevelNames, 'info'),
  FAILPOINTS: failpointsSetting,
}

/**
 * Reads the settings of the API and of the worker. Throws `SettingsProblem`, which lists every invalid value. If all
 * values are valid, it names the first setting that lacks another one that it needs.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { values, secrets } = readSettings(environment, settingShape)
  if (values.FAILPOINTS.length > 0 && environment['NODE_ENV'] === 'production')
    throw new SettingsProblem(['FAILPOINTS breaks runs on purpose and is refused in production: remove it'])
  if (values.SMTP_URL && !values.MAIL_FROM)
    throw new SettingsProblem(['MAIL_FROM is missing: with SMTP_URL, set the sender address'])
  if (values.ALERT_WEBHOOK_URL && !values.ALERT_WEBHOOK_SECRET)
    throw new SettingsProblem(['ALERT_WEBHOOK_SECRET is missing: with ALERT_WEBHOOK_URL, set the signing secret'])
  // 0 means the default: half of the worker's slots.
  const defaultClientConcurrency = Math.max(1, Math.floor(values.WORKER_CONCURRENCY / 2))
  const hasWarehouseLimit = values.CLIENT_WAREHOUSE_LIMIT !== 0
  return {
    ...values,
    CLIENT_CONCURRENCY: values.CLIENT_CONCURRENCY === 0 ? defaultClientConcurrency : values.CLIENT_CONCURRENCY,
    ...(hasWarehouseLimit && { databaseBytes: values.CLIENT_WAREHOUSE_LIMIT }),
    redshift: parseRedshiftSettings(values),
    secrets,
  }
}

/** Reads the settings of the command that prepares the database. */
export function readDatabaseConfig(environment: NodeJS.ProcessEnv = process.env) {
  return readSettings(environment, { PIPELINE_DATABASE_URL: databaseUrl() }).values
}

export type Config = ReturnType<typeof readConfig>

/** Reads the settings of the command that encrypts stored secrets with the newest key. */
export const readResealConfig = (environment: NodeJS.ProcessEnv = process.env) =>
  readSettings(environment, { PIPELINE_DATABASE_URL: databaseUrl(), SECRET_KEYS: secretKeys }).values
