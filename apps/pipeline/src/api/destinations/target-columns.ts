import type { DestinationBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { problems } from '@sluice/http'
import {
  openTargetSecrets,
  sameAddress,
  sealTargetSecrets,
  type TargetSettings,
} from '../../engine/destinations/target.ts'
import { keptSecrets, withValues } from '../kept-secrets.ts'
import type { DestinationRow } from './row.ts'

/** What a body says of its target, as columns: where it is in the clear, the secrets sealed. */
export function targetColumns(
  body: DestinationBody,
  uid: string,
  current: DestinationRow | undefined,
  ring: KeyRing,
): { settings: string; target_secrets: string | null } {
  const { settings, given, pointer } = targetGiven(body)
  const kept = current && Object.values(given).includes(undefined)
  const secrets = kept
    ? keptSecrets({
        stored: openTargetSecrets(current, ring),
        given,
        moved: sameAddress(urlOf(current.settings), urlOf(settings)) ? undefined : pointer,
      })
    : withValues(given)
  return { settings: JSON.stringify(settings), target_secrets: sealTargetSecrets(uid, secrets, ring) }
}

/** Does the body send the rows to another system than before? */
export function isElsewhere(body: DestinationBody, { settings }: Pick<DestinationRow, 'settings'>): boolean {
  return !sameAddress(urlOf(settings), urlOf(targetGiven(body).settings))
}

/** Refuses, by a problem, a body without a target or with two. */
export function targetGiven({ apiTarget, apiTokenTarget }: DestinationBody) {
  if (apiTarget && apiTokenTarget)
    throw problems.refused('/apiTokenTarget', 'Either apiTarget or apiTokenTarget: leave one of them out.')
  if (apiTokenTarget) {
    const { url, authToken } = apiTokenTarget
    const settings: TargetSettings = { apiTokenTarget: { url } }
    return { settings, given: { authToken }, pointer: '/apiTokenTarget/authToken' }
  }
  if (!apiTarget)
    throw problems.refused(
      '/apiTarget',
      'Say where to push to: apiTarget with a username and a password, or apiTokenTarget with a token.',
    )
  const { url, username, password } = apiTarget
  const settings: TargetSettings = { apiTarget: { url, ...(username !== undefined && { username }) } }
  return { settings, given: { password }, pointer: '/apiTarget/password' }
}

export const urlOf = (settings: TargetSettings): string =>
  'apiTarget' in settings ? settings.apiTarget.url : settings.apiTokenTarget.url
