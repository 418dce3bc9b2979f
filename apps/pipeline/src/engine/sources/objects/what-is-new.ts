import { createHash } from 'node:crypto'
import type { FeedColumn } from '../source.ts'
import type { StoredObject } from './object-store.ts'

/** What is kept with loaded rows, so that the next load can tell what is new. */
export interface Loaded {
  /** Of what was asked for: another pattern or another way to read makes everything new. */
  settings: string
  /** Marks of versions, by key. */
  objects: Record<string, string>
  /** How many rows each gave, by key; absent of one that nobody counted. */
  rows: Record<string, number>
  /** The columns that the objects had together. */
  columns: FeedColumn[]
}

/** How a store differs from what was loaded. */
export interface Differences {
  fresh: StoredObject[]
  changed: StoredObject[]
  /** As they were. */
  same: StoredObject[]
  /** How many are no longer there. */
  gone: number
}

export function loadedNow(
  settings: unknown,
  objects: readonly StoredObject[],
  columns: FeedColumn[],
  rows: ReadonlyMap<string, number>,
): Loaded {
  const marks = objects.map((object) => [object.key, markOf(object)])
  return {
    settings: fingerprint(settings),
    objects: Object.fromEntries(marks),
    rows: Object.fromEntries(rows),
    columns,
  }
}

/** What the cursor of an earlier load of the same settings says; undefined for any other. */
export function loadedBefore(cursor: unknown, settings: unknown): Loaded | undefined {
  const { settings: before, objects, rows = {}, columns } = (cursor ?? {}) as Partial<Loaded>
  if (before !== fingerprint(settings) || typeof objects !== 'object' || !Array.isArray(columns)) return undefined
  return { settings: before, objects, rows, columns }
}

export function whatIsNew(before: Loaded, objects: readonly StoredObject[]): Differences {
  const known = new Map(Object.entries(before.objects))
  const found: Differences = { fresh: [], changed: [], same: [], gone: 0 }
  for (const object of objects) {
    const mark = known.get(object.key)
    if (mark === undefined) found.fresh.push(object)
    else if (mark !== markOf(object)) found.changed.push(object)
    else found.same.push(object)
    known.delete(object.key)
  }
  return { ...found, gone: known.size }
}

/** Stores without marks say at least when it was written, and how long it is. */
const markOf = ({ etag, size, lastModified }: StoredObject): string => etag || `${size} ${lastModified.getTime()}`

const fingerprint = (settings: unknown): string =>
  createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 22)
