import { isDeepStrictEqual } from 'node:util'
import type { ConfigurationChanges, ConfiguredObject } from '@sluice/contracts'
import type { SecretsByPointer } from './object-kind-adapters.ts'

export interface FieldDifference {
  pointer: string
  before: unknown
  after: unknown
}

export interface ObjectComparison {
  /** The differences from the stored object. Empty for a new object. */
  fields: FieldDifference[]
  /** The new object; undefined if the object existed before. */
  created?: ConfiguredObject
}

/**
 * Compares an object before and after a save. Ignores the list of redacted fields, because `compareSecrets` compares
 * the secrets.
 */
export function compareObjects(before: ConfiguredObject | undefined, after: ConfiguredObject): ObjectComparison {
  if (!before) return { fields: [], created: after }
  const { redacted: _stored, ...stored } = before
  const { redacted: _saved, ...saved } = after
  return { fields: [...findDifferences(stored, saved, '')] }
}

/** Yields the differences between two values. Compares objects field by field, and arrays as a whole. */
function* findDifferences(before: unknown, after: unknown, pointer: string): Generator<FieldDifference> {
  if (isDeepStrictEqual(before, after)) return
  if (!isObject(before) || !isObject(after)) return yield { pointer, before, after }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const escaped = name.replaceAll('~', '~0').replaceAll('/', '~1')
    yield* findDifferences(before[name], after[name], `${pointer}/${escaped}`)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export type SecretState = ConfigurationChanges['changes'][number]['redacted'][number]

/** Returns the state of each secret that the document contains or lists as redacted, or that the save removes. */
export function compareSecrets(
  object: ConfiguredObject,
  before: SecretsByPointer,
  after: SecretsByPointer,
): SecretState[] {
  const redacted = object.redacted ?? []
  const pointers = new Set([...Object.keys(before), ...Object.keys(after), ...redacted])
  return [...pointers].toSorted().flatMap((pointer) => {
    const state = compareSecret(before[pointer], after[pointer], {
      isSent: findValueAt(object, pointer) !== undefined,
      isRedacted: redacted.includes(pointer),
    })
    return state === undefined ? [] : [{ pointer, state }]
  })
}

/** Returns the state of a secret; undefined if it stays and the document omits it, or if it does not exist. */
function compareSecret(
  before: string | undefined,
  after: string | undefined,
  { isSent, isRedacted }: { isSent: boolean; isRedacted: boolean },
): SecretState['state'] | undefined {
  if (before === undefined && after === undefined) return isRedacted ? 'MISSING' : undefined
  if (after === undefined) return 'REMOVED'
  if (before === undefined) return 'SET'
  if (before !== after) return 'CHANGED'
  return isSent ? 'SAME' : undefined
}

/** Returns the value of a secret in an object of the document; undefined if the document omits it. */
export const findValueAt = (object: ConfiguredObject, pointer: string): unknown =>
  pointer
    .slice(1)
    .split('/')
    .reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), object)
