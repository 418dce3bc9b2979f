import { hash } from 'node:crypto'
import type { SourceShape } from '@sluice/warehouses/shape/previous-source-columns'

/**
 * Returns a digest of a source's type and settings, without secrets. It changes if another query, sheet or file option
 * is chosen.
 */
export const sourceDefinitionDigest = ({ type, settings }: { type: string; settings: unknown }): string =>
  hash('sha256', JSON.stringify([type, settings])).slice(0, 32)

/**
 * Returns the shape of the last load. Returns undefined if the settings of the source have changed since, because the
 * columns of the source are then unrelated. A shape without a digest counts as unchanged.
 */
export function discardOutdatedShape(definition: string, lastShape: SourceShape | undefined): SourceShape | undefined {
  if (lastShape?.definition === undefined) return lastShape
  return lastShape.definition === definition ? lastShape : undefined
}
