import { hash } from 'node:crypto'
import type { FeedMemory } from './engine/warehouses/shape/feed-memory.ts'

/** A digest of the definition of the source: type and settings such as query, sheet and options. Secrets are left out. */
export const definitionOf = ({ type, settings }: { type: string; settings: unknown }): string =>
  hash('sha256', JSON.stringify([type, settings])).slice(0, 32)

/** Returns the part of the last load's memory that holds for the next file. The memory of another definition says nothing about it. */
export const memoryFor = (definition: string, last: FeedMemory | undefined): FeedMemory | undefined =>
  last?.definition === undefined || last.definition === definition ? last : undefined
