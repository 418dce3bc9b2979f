import { hash } from 'node:crypto'
import type { FeedMemory } from '@sluice/warehouses/shape/feed-memory'

/** Returns a digest of the source's type and settings, such as query, sheet and options. Secrets are left out. */
export const sourceDefinitionDigest = ({ type, settings }: { type: string; settings: unknown }): string =>
  hash('sha256', JSON.stringify([type, settings])).slice(0, 32)

/** Returns the memory of the last load, or undefined if the definition of the source has changed since. */
export const discardOutdatedMemory = (definition: string, last: FeedMemory | undefined): FeedMemory | undefined =>
  last?.definition === undefined || last.definition === definition ? last : undefined
