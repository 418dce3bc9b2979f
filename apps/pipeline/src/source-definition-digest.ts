import { hash } from 'node:crypto'
import type { SourceShape } from '@sluice/warehouses/shape/previous-source-columns'

/**
 * Returns a digest of a source's type and settings, without secrets. It changes if another query, sheet or file option
 * is chosen.
 */
export const sourceDefinitionDigest = ({ type, settings }: { type: string; settings: unknown }): string =>
  hash('sha256', JSON.stringify([type, settings])).slice(0, 32)

/**
 * Returns the record of the last load. Returns undefined if the settings of the source have changed since then, because
 * its columns may be unrelated to those of the source now.
 */
export function discardOutdatedShape(
  definition: string,
  previousShape: SourceShape | undefined,
): SourceShape | undefined {
  const previousDefinition = previousShape?.definition
  const isOutdated = previousDefinition !== undefined && previousDefinition !== definition
  return isOutdated ? undefined : previousShape
}
