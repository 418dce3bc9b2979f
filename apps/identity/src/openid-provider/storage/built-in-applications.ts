import type { AllClientMetadata } from 'oidc-provider'
import { applicationScopes, cliApplication, consoleApplication } from '@sluice/contracts'
import type { Config } from '../../config.ts'
import { hashSecret } from '../../stored-secrets.ts'
import { type ExtraMetadata, toClientMetadata } from './clients.ts'

export type ConsoleSettings = Pick<Config, 'CONSOLE_SECRET' | 'CONSOLE_REDIRECT_URIS'>

/** The grant type of the device flow (RFC 8628). No registered application can have it. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Returns whether the id is that of the console, whose tokens have all roles of the user. See docs/decisions/0119. */
export const isConsole = (clientId: string | undefined): boolean => clientId === consoleApplication

/** Returns whether the id is that of an application for users of all organisations. Registered applications have none of these ids. */
export const isBuiltIn = (clientId: string | undefined): boolean => isConsole(clientId) || clientId === cliApplication

/** Returns the client metadata of a built-in application; undefined for other ids, and for the console while it is off. */
export function findBuiltIn(
  clientId: string,
  settings: ConsoleSettings,
): (AllClientMetadata & ExtraMetadata) | undefined {
  if (clientId === cliApplication) return commandLine
  const { CONSOLE_SECRET, CONSOLE_REDIRECT_URIS } = settings
  if (!isConsole(clientId) || CONSOLE_SECRET === undefined || CONSOLE_REDIRECT_URIS.length === 0) return undefined
  const metadata = toClientMetadata({
    sso_client_id: consoleApplication,
    client_name: 'Sluice console',
    secret_hash: hashSecret(CONSOLE_SECRET),
    redirect_uris: CONSOLE_REDIRECT_URIS,
    scopes: ['openid'],
    grant_types: ['authorization_code', 'refresh_token'],
  })
  // For a native application, oidc-provider would accept a loopback address with any port.
  return { ...metadata, application_type: 'web' }
}

/** Returns why the console is off; undefined if it is on. */
export function whyConsoleIsOff({ CONSOLE_SECRET, CONSOLE_REDIRECT_URIS }: ConsoleSettings): string | undefined {
  if (CONSOLE_SECRET === undefined) return 'the console is off, because CONSOLE_SECRET is not set'
  if (CONSOLE_REDIRECT_URIS.length === 0) return 'the console is off, because CONSOLE_REDIRECT_URIS is not set'
  return undefined
}

const commandLine = toClientMetadata({
  sso_client_id: cliApplication,
  client_name: 'Sluice command line',
  secret_hash: null,
  redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
  scopes: applicationScopes,
  grant_types: ['authorization_code', 'refresh_token', deviceGrant],
})
