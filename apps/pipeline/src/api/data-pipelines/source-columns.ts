import type { DataPipelineBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { type GivenFor, givenForNow, isSameAddress } from '../../engine/variables/given-for.ts'
import { openSource, sealSourceSecrets, type SentSecrets } from '../../sealed-secrets.ts'
import { type GivenSecrets, mergeSecrets as kept, definedSecrets } from '../merge-secrets.ts'
import type { DataPipelineRow } from './records.ts'
import { type AnyKind, kindOf } from './types/registry.ts'

/**
 * What a body says of its source, as columns: the settings in the clear, the secrets sealed, with where they were meant to go. `variables`
 * is asked for where there are secrets, and their address names some.
 */
export async function sourceColumns(
  body: DataPipelineBody,
  uid: string,
  current: DataPipelineRow | undefined,
  ring: KeyRing,
  variables: () => Promise<ReadonlyMap<string, string>>,
): Promise<{ settings: string; source_secrets: string | null }> {
  const kind = kindOf(body.type)
  const settings = kind.settings(body)
  const given = kind.secrets(body)
  const stored = current && Object.values(given).includes(undefined) ? current : undefined
  const some = Object.values(given).some((value) => typeof value === 'string') || stored?.source_secrets != null
  const now = some ? await givenForNow(kind.meantFor?.of(settings), variables) : undefined
  const { secrets } = stored
    ? mergeSourceSecrets(kind, stored, settings, given, ring, { now })
    : { secrets: definedSecrets(given) }
  kind.checkSecrets?.(settings, secrets)
  return { settings: JSON.stringify(settings), source_secrets: sealSourceSecrets(uid, secrets, ring, now) }
}

interface AddressChange {
  /** What has the secrets sent elsewhere, where bodies are not those of pipelines. */
  pointer?: string | undefined
  /** What the address comes to, for whoever stores it anew: from now on the secrets are meant for that. */
  now?: GivenFor | undefined
}

/**
 * The given secrets, and the stored ones for those that are absent, as long as the source stays where it is; then `givenFor` says where that
 * was, if it names variables.
 */
export function mergeSourceSecrets(
  kind: AnyKind,
  stored: Pick<DataPipelineRow, 'uid' | 'settings' | 'source_secrets'>,
  settings: object,
  given: GivenSecrets,
  ring: KeyRing,
  { pointer, now }: AddressChange = {},
): SentSecrets {
  const open = openSource(stored, ring)
  const first = Object.keys(given).find((name) => given[name] === undefined && name in open.secrets)
  const moves =
    movesTo(kind, stored.settings as object, settings) ||
    (now !== undefined && open.givenFor !== undefined && !isSameAddress(open.givenFor, now))
  const moved = moves ? (pointer ?? `${kind.meantFor!.pointer}/${first}`) : undefined
  const secrets = kept({ stored: open.secrets, given, moved })
  return { secrets, givenFor: first === undefined ? undefined : open.givenFor }
}

/** Would secrets be sent elsewhere than they were given for, as the addresses are written? */
const movesTo = ({ meantFor }: AnyKind, before: object, after: object): boolean =>
  meantFor !== undefined && JSON.stringify(meantFor.of(before)) !== JSON.stringify(meantFor.of(after))

export { definedSecrets }
