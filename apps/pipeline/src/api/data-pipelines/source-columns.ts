import type { DataPipelineBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { openSourceSecrets, sealSourceSecrets, type SourceSecrets } from '../../source-secrets.ts'
import { type GivenSecrets, keptSecrets as kept, withValues } from '../kept-secrets.ts'
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
  kind.checkSecrets?.(settings, secrets)
  return { settings: JSON.stringify(settings), source_secrets: sealSourceSecrets(uid, secrets, ring) }
}

/**
 * The given secrets, and the stored ones for those that are absent, as long as the source stays where it is. `pointer` is what has them sent
 * elsewhere, where bodies are not those of pipelines.
 */
export function keptSecrets(
  kind: AnyKind,
  stored: Pick<DataPipelineRow, 'uid' | 'settings' | 'source_secrets'>,
  settings: object,
  given: GivenSecrets,
  ring: KeyRing,
  pointer?: string,
): SourceSecrets {
  const open = openSourceSecrets(stored, ring)
  const source = kind.movesTo(stored.settings as object, settings)
  const first = Object.keys(given).find((name) => given[name] === undefined && name in open)
  return kept({ stored: open, given, moved: source && (pointer ?? `${source}/${first}`) })
}

export { withValues }
