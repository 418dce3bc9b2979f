import { keyRing, type KeyRing } from '@sluice/database'
import { hostNames } from '@sluice/http-server'
import { outgoingAllowed } from '@sluice/http-client'
import {
  databaseUrl,
  integerSetting,
  listSetting,
  logLevelNames,
  oneOf,
  portSetting,
  readSettings,
  secretSetting,
  textSetting,
  urlSetting,
  SettingsProblem,
  type Setting,
} from '@sluice/process'
import { senderAddress, smtpUrl } from '@sluice/mail'
import { findRedirectUriFault } from './redirect-uris.ts'

const keyRingSetting: Setting<KeyRing> = { secret: true, parse: keyRing }

const optionalSecret: Setting<string | undefined> = { ...secretSetting(), fallback: undefined }

const redirectUris: Setting<string[]> = {
  fallback: [],
  parse(text) {
    const uris = listSetting().parse(text)
    for (const uri of uris) {
      const fault = findRedirectUriFault(uri)
      if (fault !== undefined) throw new Error(`has the address "${uri.slice(0, 200)}", which ${fault}`)
    }
    return uris
  },
}

const settingDefinitions = {
  IDENTITY_PORT: portSetting(3001),
  LISTEN_HOST: textSetting('127.0.0.1'),
  IDENTITY_DATABASE_URL: databaseUrl(),
  /**
   * The public address of this service and the issuer in its tokens. Default: `http://localhost` with the port, set by
   * `readConfig`.
   */
  IDENTITY_PUBLIC_URL: urlSetting(['http:', 'https:'], ''),
  /**
   * The address where users sign in to work: the front end or another application. The last page of each sign-in,
   * invitation and password reset links to it.
   */
  HOME_URL: urlSetting(['http:', 'https:'], ''),
  SECRET_KEYS: keyRingSetting,
  /** The secret with which the pipeline service authenticates at this service. */
  SERVICE_SECRET: secretSetting(),
  /**
   * Host names that requests may use in addition to the public host, such as the internal name that the pipeline
   * service uses.
   */
  ALLOWED_HOSTS: hostNames(),
  CORS_ORIGINS: listSetting(),
  /** Hosts and address ranges that outgoing requests may reach in addition to public https addresses. */
  OUTGOING_ALLOWED: outgoingAllowed(),
  TRUSTED_PROXIES: integerSetting({ min: 0, max: 10, fallback: 0 }),
  LOG_LEVEL: oneOf(logLevelNames, 'info'),
  /**
   * The client secret and the redirect URIs of the built-in application `console`. If either is missing, the
   * application is disabled.
   */
  CONSOLE_SECRET: optionalSecret,
  CONSOLE_REDIRECT_URIS: redirectUris,
  /** Whether programs without a browser can sign in with the device flow (RFC 8628). */
  DEVICE_FLOW: oneOf(['true', 'false'], 'true'),
  /** Whether administrators may set passwords of other users. See docs/decisions/0010. */
  ADMIN_SETS_PASSWORDS: oneOf(['true', 'false'], 'false'),
  /**
   * The SMTP server. In an installation without one, mails are stored, and administrators hand over the links. See
   * docs/decisions/0014.
   */
  SMTP_URL: smtpUrl(),
  MAIL_FROM: senderAddress(),
  ACCESS_TOKEN_SECONDS: integerSetting({ min: 30, max: 900, fallback: 300 }),
  /** Days until the user has to sign in again. Token refreshes do not extend this period. */
  SESSION_DAYS: integerSetting({ min: 1, max: 365, fallback: 30 }),
  /** Idle timeout in hours: a session ends after this time without a token refresh. */
  SESSION_IDLE_HOURS: integerSetting({ min: 1, max: 8760, fallback: 168 }),
  /**
   * Days after which the next key replaces the signing key. With 0, an operator rotates the keys with
   * bin/rotate-keys.ts.
   */
  KEY_ROTATION_DAYS: integerSetting({ min: 0, max: 3650, fallback: 90 }),
}

/** Reads the settings of the identity service. Throws `SettingsProblem` with all errors. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { values, secrets } = readSettings(environment, settingDefinitions)
  if (values.SMTP_URL && !values.MAIL_FROM) throw new SettingsProblem(['MAIL_FROM is required if SMTP_URL is set'])
  return {
    ...values,
    IDENTITY_PUBLIC_URL: values.IDENTITY_PUBLIC_URL || `http://localhost:${values.IDENTITY_PORT}`,
    ADMIN_SETS_PASSWORDS: values.ADMIN_SETS_PASSWORDS === 'true',
    DEVICE_FLOW: values.DEVICE_FLOW === 'true',
    secrets,
  }
}

export type Config = ReturnType<typeof readConfig>

/**
 * Reads the settings of the commands that prepare the database: `migrate`, `create-first-admin` and
 * `remove-second-factor`.
 */
export function readDatabaseConfig(environment: NodeJS.ProcessEnv = process.env) {
  return readSettings(environment, {
    IDENTITY_DATABASE_URL: databaseUrl(),
    /** The first admin's password. Default: the command generates and prints one. */
    SLUICE_ADMIN_PASSWORD: textSetting(''),
  }).values
}

/** Reads the settings of the command that encrypts stored secrets with the newest key. */
export const readResealConfig = (environment: NodeJS.ProcessEnv = process.env) =>
  readSettings(environment, { IDENTITY_DATABASE_URL: databaseUrl(), SECRET_KEYS: keyRingSetting }).values
