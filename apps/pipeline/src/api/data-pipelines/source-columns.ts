import type { DataPipelineBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { problems } from '@sluice/http'
import { openSourceSecrets, sealSourceSecrets, type SourceSecrets } from '../../source-secrets.ts'
import type { DataPipelineRow } from './row.ts'
import { type AnyKind, kindOf } from './types/registry.ts'

/** What a body says of its source, as columns: the settings in the clear, the secrets sealed. */
export function sourceColumns(
  body: DataPipelineBody,
  uid: string,
  current: DataPipelineRow | undefined,
  ring: KeyRing,
): { settings: string; source_secrets: string | null } {
  const kind = kindOf(body.type)
  const settings = kind.settings(body)
  const given = kind.secrets(body)
  const stored = current && Object.values(given).includes(undefined) ? current : undefined
  const secrets = stored ? keptSecrets(kind, stored, settings, given, ring) : withValues(given)
  return { settings: JSON.stringify(settings), source_secrets: sealSourceSecrets(uid, secrets, ring) }
}

/**
 * The given secrets, and the stored ones for those that are absent. Who may change where a pipeline reads from may not
 * read its password, and would by having it sent there: with another address, it has to come along.
 */
export function keptSecrets(
  kind: AnyKind,
  stored: Pick<DataPipelineRow, 'uid' | 'settings' | 'source_secrets'>,
  settings: object,
  given: Record<string, string | null | undefined>,
  ring: KeyRing,
): SourceSecrets {
  const kept = openSourceSecrets(stored, ring)
  const moved = kind.movesTo(stored.settings as object, settings)
  if (moved && Object.keys(given).some((name) => given[name] === undefined && name in kept))
    throw problems.refused(moved, 'The stored password is for the old address: send it along, or null for none.')
  const absent = Object.keys(given).filter((name) => given[name] === undefined && name in kept)
  return { ...Object.fromEntries(absent.map((name) => [name, kept[name]!])), ...withValues(given) }
}

export const withValues = (given: Record<string, string | null | undefined>): SourceSecrets =>
  Object.fromEntries(Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
