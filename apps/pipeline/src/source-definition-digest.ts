import { hash } from 'node:crypto'
import type { SourceShape } from '@sluice/warehouses/shape/previous-source-columns'

/**
 * Returns a digest of a source's type and settings, without secrets. It changes if another query, sheet or file option
 * is chosen.
 */
export const sourceDefinitionDigest = ({ type, settings }: { type: string; settings: unknown }): string =>
  hash('sha256', JSON.stringify([type, settings])).slice(0, 32)

/**
 * Returns the columns of the last load, or undefined if the settings of the source have changed since, because its
 * columns are then unrelated.
 */
export const discardOutdatedMemory = (definition: string, last: SourceShape | undefined): SourceShape | undefined =>
  last?.definition === undefined || last.definition === definition ? last : undefined
