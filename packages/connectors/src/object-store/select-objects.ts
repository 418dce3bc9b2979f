import { setImmediate as breathe } from 'node:timers/promises'
import { SourceProblem } from '@sluice/row-stream'
import { type KeyPattern, keyPattern } from './key-pattern.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { retry, type RetryPolicy } from '@sluice/http-client'

/** The objects to load: a single one, or those that match a pattern. */
export interface SelectedObjects {
  single: boolean
  objects: StoredObject[]
  empty: number
}

export interface ObjectSelection {
  store: ObjectStore
  key: string
  retryPolicy: RetryPolicy
  enough?: number
  onPage?(): void
}

/** Maximum number of objects of one load; the next limit is the number of keys that are examined for them. */
const maxObjects = 10_000
const maxListedKeys = 2_000_000
/** Maximum milliseconds of comparing keys without a pause. */
const maxBlockingMs = 20

/** Finds the objects for a pipeline's key. Throws OBJECT_MISSING, NO_OBJECTS, TOO_MANY_OBJECTS, or the store's errors. */
export async function selectObjects(choosing: ObjectSelection, signal: AbortSignal): Promise<SelectedObjects> {
  const { store, key, retryPolicy, enough } = choosing
  const pattern = keyPattern(key)
  const { single } = pattern
  if (single !== undefined) {
    const object = await retry(() => store.find(single, signal), { policy: retryPolicy, signal })
    return { single: true, objects: [object], empty: 0 }
  }
  const objects: StoredObject[] = []
  let empty = 0
  let deeper = false
  const own = depth(key)
  const passedBy = ({ key: other }: StoredObject) => {
    deeper ||= depth(other) > own
  }
  for await (const object of listMatchingObjects(choosing, pattern, passedBy, signal)) {
    // Folder objects that consoles create, and marks such as _SUCCESS, are empty.
    if (object.size === 0) empty += 1
    else objects.push(object)
    if (objects.length > maxObjects) throw tooManyObjectsProblem(key)
    if (enough !== undefined && objects.length >= enough) break
  }
  if (objects.length === 0) throw noObjectsProblem(key, empty, deeper)
  return { single: false, objects: sortByKey(objects), empty }
}

export const sortByKey = (objects: readonly StoredObject[]): StoredObject[] =>
  objects.toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)))

async function* listMatchingObjects(
  { store, retryPolicy, onPage }: ObjectSelection,
  pattern: KeyPattern,
  passedBy: (object: StoredObject) => void,
  signal: AbortSignal,
): AsyncGenerator<StoredObject, void, void> {
  let listed = 0
  let next: string | undefined
  do {
    const page = await retry(() => store.list(pattern.prefix, next, signal), { policy: retryPolicy, signal })
    let since = performance.now()
    for (const object of page.objects) {
      if (pattern.matches(object.key)) yield object
      else passedBy(object)
      // Long patterns and keys must not block the event loop.
      if (performance.now() - since < maxBlockingMs) continue
      await breathe(undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
      since = performance.now()
    }
    onPage?.()
    listed += Math.max(1, page.objects.length)
    if (listed > maxListedKeys) throw tooManyListedProblem(pattern.prefix)
    // A store that returns the same page for ever would cause an endless loop.
    next = page.next === next ? undefined : page.next
  } while (next)
}

const depth = (key: string): number => key.replace(/^\/+/, '').split('/').length

/** Returns the same pattern for all folders: `a/*.csv` becomes `a/**\/*.csv`. */
const throughFolders = (key: string): string => key.replace(/[^/]*$/, (last) => `**/${last}`)

const noObjectsProblem = (key: string, empty: number, deeper: boolean): SourceProblem =>
  new SourceProblem(
    'NO_OBJECTS',
    empty > 0
      ? `All ${empty} objects that match "${key}" are empty. The old data stays.`
      : deeper && key.includes('*') && !key.includes('**')
        ? `No object matches "${key}". \`*\` matches within one folder only; \`${throughFolders(key)}\` includes its subfolders, which have objects. The old data stays.`
        : `No object matches "${key}". Check the key: it starts without a slash, and a folder ends with one. The old data stays.`,
  )

const tooManyObjectsProblem = (key: string): SourceProblem =>
  new SourceProblem(
    'TOO_MANY_OBJECTS',
    `More than ${maxObjects} objects match "${key}". Use a narrower key, or write fewer and larger objects.`,
  )

const tooManyListedProblem = (prefix: string): SourceProblem =>
  new SourceProblem(
    'TOO_MANY_OBJECTS',
    `More than ${maxListedKeys} keys start with "${prefix}". Lengthen the part of the key before its first pattern character.`,
  )
