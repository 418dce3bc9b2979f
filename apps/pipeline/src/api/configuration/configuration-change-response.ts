import type { ConfigurationChanges, ConfigurationKind } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import type { SavedRow } from '@sluice/records'
import type { ObjectComparison, SecretState } from './compare-objects.ts'
import type { DescribedRow } from './export-configuration.ts'

/** An object of the configuration, and the changes that saving it makes. */
export interface ObjectChange extends ObjectComparison {
  kind: ConfigurationKind
  name: string
  was: string | undefined
  result: 'CREATED' | 'UPDATED' | 'UNCHANGED'
  secrets: SecretState[]
  /** The secrets that the plan's digest covers: encrypted stored values, and new values. */
  secretsForDigest: unknown[]
  pending: boolean
  saved: SavedRow<DescribedRow['row']>
}

/** Returns the response to a plan or apply request. */
export function presentChanges(
  changes: readonly ObjectChange[],
  { applied, ring }: { applied: boolean; ring: KeyRing },
): ConfigurationChanges {
  const count = (matches: (change: ObjectChange) => boolean) => changes.filter(matches).length
  const created = count(({ result }) => result === 'CREATED')
  const updated = count(({ result }) => result === 'UPDATED')
  const unchanged = count(({ result }) => result === 'UNCHANGED')
  const pending = count((change) => change.pending)
  const missing = count(({ secrets }) => secrets.some(({ state }) => state === 'MISSING'))
  return {
    applied,
    message: describeChanges({ created, updated, unchanged, pending, missing }, applied),
    plan: computePlanDigest(changes, ring),
    created,
    updated,
    unchanged,
    pending,
    missing,
    changes: changes.map(({ kind, name, was, result, fields, secrets, pending, saved }) => ({
      kind,
      name,
      ...(was !== undefined && { was }),
      ...((applied || result !== 'CREATED') && { id: saved.after.uid }),
      result,
      fields: fields.map(({ pointer, before, after }) => ({
        pointer,
        ...(before !== undefined && { before: toShortJson(before) }),
        ...(after !== undefined && { after: toShortJson(after) }),
      })),
      redacted: secrets,
      pending,
    })),
  }
}

interface ChangeCounts {
  created: number
  updated: number
  unchanged: number
  pending: number
  missing: number
}

/** Returns the sentences that summarise the changes; for a plan in the form of what would be done. */
function describeChanges({ created, updated, unchanged, pending, missing }: ChangeCounts, applied: boolean): string {
  const tense = applied ? '' : 'to be '
  const counts = `${created} ${tense}created, ${updated} ${tense}updated, ${unchanged} unchanged.`
  const oneView = applied ? 'waits for its run' : 'needs a run'
  const severalViews = applied ? 'wait for their runs' : 'need runs'
  const sentences = [
    created + updated === 0 ? 'No changes.' : counts,
    pending > 0 && `${formatCount(pending, 'view')} ${pending === 1 ? oneView : severalViews} in the warehouse.`,
    missing > 0 && `${formatCount(missing, 'object')} ${missing === 1 ? 'lacks' : 'lack'} a secret: see \`redacted\`.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

const formatCount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * Returns a digest of the changes. An apply request sends it back, so that it saves only what the plan showed. It does
 * not depend on the ids of new objects. It covers new secret values and encrypted stored secrets, so saving a secret
 * again changes it. It is a keyed MAC, so that trying values cannot reveal a secret.
 */
const computePlanDigest = (changes: readonly ObjectChange[], ring: KeyRing): string =>
  ring.mac(
    JSON.stringify(
      changes.map(({ kind, name, was, result, fields, created, secrets, secretsForDigest }) => [
        kind,
        name,
        was,
        result,
        fields,
        created,
        secrets,
        secretsForDigest,
      ]),
    ),
    'configuration.plan',
  )

/** The maximum length of a value in a response, in characters. */
const maxValueLength = 1_000

function toShortJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text
}
