import type { KeyRing } from '@sluice/database'
import { unsealSecrets, sealSecrets, type SecretValues } from '../secrets/encrypted-secrets.ts'

/** The address and credentials of a target system: a username and password, or a token. */
export interface Target {
  url: string
  username?: string | undefined
  password?: string | undefined
  authToken?: string | undefined
}

/** The stored settings of a target without secrets. The credentials are either a username and password or a token. */
export type TargetSettings =
  | { apiTarget: { url: string; username?: string | undefined } }
  | { apiTokenTarget: { url: string } }

/** The import parameters of DHIS2. */
export interface ImportOptions {
  dataElementIdScheme?: string
  orgUnitIdScheme?: string
  categoryOptionComboIdScheme?: string
  idScheme?: string
  dryRun?: boolean
}

interface SealedTarget {
  uid: string
  target_secrets: string | null
}

const sealPurpose = (uid: string) => `destinations.target_secrets:${uid}`

/** Decrypts the secrets of a target. Throws `SealProblem` if the encryption key is not configured. */
export const unsealTargetSecrets = ({ uid, target_secrets }: SealedTarget, ring: KeyRing): SecretValues =>
  unsealSecrets(target_secrets, sealPurpose(uid), ring)

/** Encrypts the secrets of a target. Returns null if it has none. */
export const sealTargetSecrets = (uid: string, secrets: SecretValues, ring: KeyRing): string | null =>
  sealSecrets(secrets, sealPurpose(uid), ring)

/** Returns a target with its secret: a password or a token. */
export function createTarget(settings: TargetSettings, secrets: SecretValues): Target {
  if ('apiTokenTarget' in settings) return { url: settings.apiTokenTarget.url, authToken: secrets['authToken'] }
  const { url, username } = settings.apiTarget
  return { url, username, password: secrets['password'] }
}

/** Returns the base address of a DHIS2 server: without query, trailing slashes and /api. Keeps a path before /api. */
export const baseUrl = (url: string): string =>
  url
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .replace(/\/api$/, '')
    .replace(/\/+$/, '')

/** Returns whether two addresses have the same base address. Ignores the case of host names. */
export const isSameTarget = (one: string, other: string): boolean => normalizeAddress(one) === normalizeAddress(other)
/** Returns the normalised base address. Returns an invalid address unchanged. */
const normalizeAddress = (url: string): string => (URL.canParse(baseUrl(url)) ? new URL(baseUrl(url)).href : url)
