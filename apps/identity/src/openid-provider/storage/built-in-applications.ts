import type { AllClientMetadata } from 'oidc-provider'
import { applicationScopes, cliApplication, consoleApplication } from '@sluice/contracts'
import { type Kysely, sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { hashSecret } from '../../stored-secrets.ts'
import { type ExtraMetadata, toClientMetadata } from './clients.ts'

export type ConsoleSettings = Pick<Config, 'CONSOLE_SECRET' | 'CONSOLE_REDIRECT_URIS'>

/** The settings that enable built-in applications and their flows. */
export type BuiltInSettings = ConsoleSettings & Pick<Config, 'DEVICE_FLOW'>

/** The grant type of the device flow (RFC 8628). Only the built-in command-line application may use it. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/**
 * Returns whether the client id is that of the console. Its tokens have all roles of the user. See docs/decisions/0119.
 */
export const isConsole = (clientId: string | undefined): boolean => clientId === consoleApplication

/** Returns whether the client id is that of a built-in application, which admits users of all organisations. */
export const isBuiltIn = (clientId: string | undefined): boolean => isConsole(clientId) || clientId === cliApplication

/**
 * Returns the client metadata of a built-in application. Returns undefined for other ids, and for the console if it is
 * disabled.
 */
export function findBuiltInClient(
  clientId: string,
  settings: BuiltInSettings,
): (AllClientMetadata & ExtraMetadata) | undefined {
  if (clientId === cliApplication) return settings.DEVICE_FLOW ? commandLineClient : commandLineClientWithoutDeviceFlow
  const { CONSOLE_SECRET, CONSOLE_REDIRECT_URIS } = settings
  const isEnabled = CONSOLE_SECRET !== undefined && CONSOLE_REDIRECT_URIS.length > 0
  if (!isConsole(clientId) || !isEnabled) return undefined
  const metadata = toClientMetadata({
    sso_client_id: consoleApplication,
    client_name: 'Sluice console',
    secret_hash: hashSecret(CONSOLE_SECRET),
    redirect_uris: CONSOLE_REDIRECT_URIS,
    scopes: ['openid'],
    grant_types: ['authorization_code', 'refresh_token'],
  })
  // Use `web`, because oidc-provider accepts a loopback redirect URI with any port for `native`.
  return { ...metadata, application_type: 'web' }
}

/** Returns the reason why the console is disabled; undefined if it is enabled. */
export function findConsoleOffReason({ CONSOLE_SECRET, CONSOLE_REDIRECT_URIS }: ConsoleSettings): string | undefined {
  if (CONSOLE_SECRET === undefined) return 'the console is off, because CONSOLE_SECRET is not set'
  if (CONSOLE_REDIRECT_URIS.length === 0) return 'the console is off, because CONSOLE_REDIRECT_URIS is not set'
  return undefined
}

/**
 * Deletes the grants of the console and pending device codes if a setting disabled these. Tokens end with their grant,
 * in all processes. Call it at the start of the process, because settings change only then. Returns the number of
 * deleted rows.
 */
export async function endSwitchedOff(db: Kysely<DB>, settings: BuiltInSettings): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from oidc_models where (${findConsoleOffReason(settings) !== undefined} and sso_client_config_id = (
        select id from sso_client_configs where sso_client_id = ${consoleApplication}))
      or (${!settings.DEVICE_FLOW} and model = 'DeviceCode')`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** Returns the client metadata of the command line. `grantTypes` are added to those that it always has. */
const buildCommandLineClient = (grantTypes: readonly string[]) =>
  toClientMetadata({
    sso_client_id: cliApplication,
    client_name: 'Sluice command line',
    secret_hash: null,
    redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
    scopes: applicationScopes,
    grant_types: ['authorization_code', 'refresh_token', ...grantTypes],
  })

const commandLineClient = buildCommandLineClient([deviceGrant])
const commandLineClientWithoutDeviceFlow = buildCommandLineClient([])
