import type { KeyRing } from '@sluice/database'
import { openSecrets, sealSecrets, type Secrets } from '../../sealed-secrets.ts'

/** Where a destination pushes to, and as whom: with a username and a password, or with a token. */
export interface Target {
  url: string
  username?: string | undefined
  password?: string | undefined
  authToken?: string | undefined
}

/** How a destination keeps it: one of the two, without secrets. */
export type TargetSettings =
  | { apiTarget: { url: string; username?: string | undefined } }
  | { apiTokenTarget: { url: string } }

/** How DHIS2 is to understand what it is sent. */
export interface ImportOptions {
  dataElementIdScheme?: string
  orgUnitIdScheme?: string
  categoryOptionComboIdScheme?: string
  idScheme?: string
  dryRun?: boolean
}

interface Row {
  uid: string
  target_secrets: string | null
}

const purpose = (uid: string) => `destinations.target_secrets:${uid}`

/** Throws `SealProblem` when the key is not in the ring. */
export const openTargetSecrets = ({ uid, target_secrets }: Row, ring: KeyRing): Secrets =>
  openSecrets(target_secrets, purpose(uid), ring)

/** Null for none. */
export const sealTargetSecrets = (uid: string, secrets: Secrets, ring: KeyRing): string | null =>
  sealSecrets(secrets, purpose(uid), ring)

/** The secrets that such a target can have come from `secrets`; others are left out. */
export function targetOf(settings: TargetSettings, secrets: Secrets): Target {
  if ('apiTokenTarget' in settings) return { url: settings.apiTokenTarget.url, authToken: secrets['authToken'] }
  const { url, username } = settings.apiTarget
  return { url, username, password: secrets['password'] }
}

/**
 * The address that everything is asked below: without a trailing slash, and without the /api that people copy along. A path before
 * it stays, since many installations have one.
 */
export const baseUrl = (url: string): string =>
  url
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .replace(/\/api$/, '')
    .replace(/\/+$/, '')

/** Do these two lead to the same DHIS2? Names of hosts are the same in capitals. */
export function sameAddress(one: string, other: string): boolean {
  const [before, after] = [one, other].map((url) => (URL.canParse(baseUrl(url)) ? new URL(baseUrl(url)).href : url))
  return before === after
}
