import type { DataPipelineBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { type GivenFor, givenForNow, isSameAddress } from '../../engine/variables/given-for.ts'
import { openSource, sealSourceSecrets, type SentSecrets } from '../../sealed-secrets.ts'
import { type GivenSecrets, mergeSecrets as kept, definedSecrets } from '../merge-secrets.ts'
import type { DataPipelineRow } from './records.ts'
import { type AnyKind, kindOf } from './types/registry.ts'

/**
 * Returns the columns of a source: its settings in plain text, and its secrets sealed with the address that they are given for.
 * `variables` is called only for a source with secrets whose address has variables.
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
  /** The field that changes the address, for bodies that are not those of pipelines. */
  pointer?: string | undefined
  /** The new address, if it is stored: from now on the secrets are given for it. */
  now?: GivenFor | undefined
}

/**
 * Returns the given secrets, and the stored ones for those that are absent. Throws 422 for absent ones if the address changes. `givenFor` is
 * the address of the stored secrets, if it has variables.
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

/** True if the unresolved address differs from the one that the secrets were given for. */
const movesTo = ({ meantFor }: AnyKind, before: object, after: object): boolean =>
  meantFor !== undefined && JSON.stringify(meantFor.of(before)) !== JSON.stringify(meantFor.of(after))

export { definedSecrets }
