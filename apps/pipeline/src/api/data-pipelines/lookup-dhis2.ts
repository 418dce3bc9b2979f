import type { LookedUp } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { sameAddress } from '../../engine/destinations/target.ts'
import { openSourceSecrets } from '../../source-secrets.ts'
import { lookUpAt } from '../destinations/ask-target.ts'
import { demandOneWay, targetTyped } from '../destinations/target-asked.ts'
import { keptSecrets } from '../kept-secrets.ts'
import type { Saved, Unsaved } from './lookup.ts'
import type { DataPipelineRow } from './row.ts'

/** What a DHIS2 has to choose from that may not be saved yet. */
export async function lookUpAtDhis2(input: Unsaved): Promise<LookedUp[]> {
  const { body, params } = input
  if (body.url === undefined) throw problems.refused('/url', 'Say where DHIS2 is: its address, without /api.')
  return lookUpAt(input, params.kind, targetTyped({ ...body, url: body.url }), body.query)
}

/** The same for a pipeline: its password or token goes only to the address that it was given for. */
export async function lookUpAtSavedDhis2(input: Saved, row: DataPipelineRow): Promise<LookedUp[]> {
  const { body, params, keyRing } = input
  demandOneWay(body)
  const { apiSource } = row.settings as unknown as { apiSource: { url: string; username?: string } }
  const { url = apiSource.url, username = apiSource.username, password, authToken } = body
  const moved = sameAddress(apiSource.url, url) ? undefined : '/url'
  // What is typed takes the place of whatever is stored.
  const given = authToken === undefined && password === undefined ? { authToken, password } : {}
  const kept = keptSecrets({ stored: openSourceSecrets(row, keyRing), given, moved })
  const target = { url, username, password: password ?? kept['password'], authToken: authToken ?? kept['authToken'] }
  return lookUpAt(input, params.kind, target, body.query)
}
