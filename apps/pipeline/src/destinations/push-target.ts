import type { KeyRing } from '@sluice/database'
import { unsealSecrets, sealSecrets, type SecretValues } from '../secrets/sealed-secrets.ts'

/** Address and credentials of a target: a username and a password, or a token. */
export interface Target {
  url: string
  username?: string | undefined
  password?: string | undefined
  authToken?: string | undefined
}

/** The stored settings of a target, without secrets: one of the two kinds. */
export type TargetSettings =
  | { apiTarget: { url: string; username?: string | undefined } }
  | { apiTokenTarget: { url: string } }

/** Import parameters of DHIS2. */
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

/** Unseals the secrets of a target. Throws `SealProblem` when the key is not in the ring. */
export const unsealTargetSecrets = ({ uid, target_secrets }: SealedTarget, ring: KeyRing): SecretValues =>
  unsealSecrets(target_secrets, sealPurpose(uid), ring)

/** Seals the secrets of a target. Returns null if it has none. */
export const sealTargetSecrets = (uid: string, secrets: SecretValues, ring: KeyRing): string | null =>
  sealSecrets(secrets, sealPurpose(uid), ring)

/** Returns the target with the secrets that its kind uses: a password or a token. */
export function createTarget(settings: TargetSettings, secrets: SecretValues): Target {
  if ('apiTokenTarget' in settings) return { url: settings.apiTokenTarget.url, authToken: secrets['authToken'] }
  const { url, username } = settings.apiTarget
  return { url, username, password: secrets['password'] }
}

/** Returns the base address of a DHIS2 installation: without trailing slashes and without /api. Any path before /api stays. */
export const baseUrl = (url: string): string =>
  url
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .replace(/\/api$/, '')
    .replace(/\/+$/, '')

/** Whether two addresses have the same base address. Host names are compared case-insensitively. */
export const isSameTarget = (one: string, other: string): boolean => normalizeAddress(one) === normalizeAddress(other)
/** Returns the base address in the form of `URL`. An invalid address stays as it is. */
const normalizeAddress = (url: string): string => (URL.canParse(baseUrl(url)) ? new URL(baseUrl(url)).href : url)
