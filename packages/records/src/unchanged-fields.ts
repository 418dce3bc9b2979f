import { problems } from '@sluice/http'

interface ImmutableField {
  /** JSON pointer of the field. */
  pointer: string
  /** What the body says; undefined where it says nothing. */
  given: unknown
  stored: unknown
  /** How it is changed, as a sentence. */
  instead: string
}

/**
 * Refuses (422) a body that would change what another operation changes. A body that was read before the object's last change
 * carries an old `lastUpdated`: it repeats old values without meaning to change anything, so they are ignored.
 */
export function assertUnchanged(
  lastUpdated: string | undefined,
  updatedAt: Date,
  fields: readonly ImmutableField[],
): void {
  if (lastUpdated !== undefined && Date.parse(lastUpdated) !== updatedAt.getTime()) return
  const changed = fields.find(({ given, stored }) => given !== undefined && !isSame(given, stored))
  if (changed) throw problems.refused(changed.pointer, changed.instead)
}

/** Lists are compared as sets. */
function isSame(given: unknown, stored: unknown): boolean {
  if (!Array.isArray(given) || !Array.isArray(stored)) return given === stored
  return given.length === stored.length && given.every((one) => stored.includes(one))
}
