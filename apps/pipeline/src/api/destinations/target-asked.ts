import type { TargetLookupBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { problems } from '@sluice/http'
import { baseUrl, openTargetSecrets, sameAddress, type Target, targetOf } from '../../engine/destinations/target.ts'
import { keptSecrets } from '../kept-secrets.ts'
import type { DestinationRow } from './row.ts'
import { urlOf } from './target-columns.ts'

type Asked = Pick<TargetLookupBody, 'url' | 'username' | 'password' | 'authToken'>

/** A target as it was typed. Throws a problem for two ways of signing in at once. */
export function targetTyped({ url, username, password, authToken }: Asked & { url: string }): Target {
  assertAddress(url)
  demandOneWay({ username, password, authToken })
  return { url, username, password, authToken }
}

/**
 * A destination's target, with what was typed in the place of what is saved. The stored password or token goes only to the
 * address that it was given for.
 */
export function targetSaved(asked: Asked, row: DestinationRow, ring: KeyRing): Target {
  demandOneWay(asked)
  const { settings } = row
  const url = asked.url ?? urlOf(settings)
  assertAddress(url)
  const byToken = asked.authToken !== undefined || (asked.username === undefined && asked.password === undefined)
  if (byToken && (asked.authToken !== undefined || 'apiTokenTarget' in settings)) {
    const secrets = keptFor(url, { authToken: asked.authToken }, row, ring)
    return targetOf({ apiTokenTarget: { url } }, secrets)
  }
  const stored = 'apiTarget' in settings ? settings.apiTarget.username : undefined
  const secrets = keptFor(url, { password: asked.password }, row, ring)
  return targetOf({ apiTarget: { url, username: asked.username ?? stored } }, secrets)
}

function keptFor(url: string, given: Record<string, string | undefined>, row: DestinationRow, ring: KeyRing) {
  const [name] = Object.keys(given)
  return keptSecrets({
    stored: openTargetSecrets(row, ring),
    given,
    moved: sameAddress(urlOf(row.settings), url) ? undefined : `/${name}`,
  })
}

function assertAddress(url: string): void {
  if (!URL.canParse(baseUrl(url)))
    throw problems.refused(
      '/url',
      'This is not the address of a DHIS2 server. Write it like https://dhis2.example.org/dhis.',
    )
}

/** Refuses, by a problem, a token beside a username or a password. */
function demandOneWay({ username, password, authToken }: Asked): void {
  if (authToken !== undefined && (username !== undefined || password !== undefined))
    throw problems.refused('/authToken', 'Either a token or a username and a password: leave one of them out.')
}
