import { problems } from '@sluice/http-server'

interface ImmutableField {
  /** The JSON pointer of the field. */
  pointer: string
  /** The value in the request body, or undefined if the body does not contain the field. */
  sent: unknown
  stored: unknown
  /** A sentence about the operation that changes the field. */
  instead: string
}

/**
 * Throws 422 if a body would change a field that only another operation may change. Does nothing for a body with an
 * outdated `lastUpdated`, because its other values may be outdated too.
 */
export function assertUnchanged(
  lastUpdated: string | undefined,
  updatedAt: Date,
  fields: readonly ImmutableField[],
): void {
  const isOutdated = lastUpdated !== undefined && Date.parse(lastUpdated) !== updatedAt.getTime()
  if (isOutdated) return
  const changedField = fields.find(({ sent, stored }) => sent !== undefined && !isSame(sent, stored))
  if (changedField) throw problems.refused(changedField.pointer, changedField.instead)
}

/** Compares two values. Two lists are the same if they have the same elements in any order. */
function isSame(sent: unknown, stored: unknown): boolean {
  if (!Array.isArray(sent) || !Array.isArray(stored)) return sent === stored
  return sent.length === stored.length && sent.every((one) => stored.includes(one))
}
