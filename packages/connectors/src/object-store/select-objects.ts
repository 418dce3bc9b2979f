import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { SourceProblem } from '@sluice/row-stream'
import { type KeyPattern, compileKeyPattern } from './object-key-pattern.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { retry, type RetryPolicy } from '@sluice/http-client'

/** The objects to load: a single object, or all that match a pattern. */
export interface SelectedObjects {
  isSingle: boolean
  objects: StoredObject[]
  emptyCount: number
}

export interface ObjectSelection {
  store: ObjectStore
  key: string
  retryPolicy: RetryPolicy
  maxResults?: number
  onPage?(): void
}

/** The maximum number of objects in a load, and of keys that are compared with the pattern. */
const maxObjects = 10_000
const maxListedKeys = 2_000_000
/** Milliseconds of comparing keys after which the loop yields to the event loop. */
const maxBlockingMs = 20

/**
 * Returns the objects that match a pipeline's `key` setting: a single one if the key is not a pattern, otherwise all
 * matching objects that are not empty, sorted by key, up to `maxResults` of them. Throws OBJECT_MISSING, NO_OBJECTS,
 * TOO_MANY_OBJECTS, or an error of the store.
 */
export async function selectObjects(selection: ObjectSelection, signal: AbortSignal): Promise<SelectedObjects> {
  const { store, key, retryPolicy, maxResults } = selection
  const pattern = compileKeyPattern(key)
  const { singleKey } = pattern
  if (singleKey !== undefined) {
    const object = await retry(() => store.find(singleKey, signal), { policy: retryPolicy, signal })
    return { isSingle: true, objects: [object], emptyCount: 0 }
  }
  const objects: StoredObject[] = []
  let emptyCount = 0
  // Keys in deeper folders are the usual reason why a pattern with `*` matches nothing; the problem then suggests `**`.
  let hasKeysInDeeperFolders = false
  const patternDepth = countSegments(key)
  const onSkipped = ({ key: skippedKey }: StoredObject) => {
    hasKeysInDeeperFolders ||= countSegments(skippedKey) > patternDepth
  }
  for await (const object of listMatchingObjects(selection, pattern, onSkipped, signal)) {
    // Leaves out empty objects: consoles create them as folders, and tools as markers such as _SUCCESS.
    if (object.size === 0) emptyCount += 1
    else objects.push(object)
    if (objects.length > maxObjects) throw createTooManyObjectsProblem(key)
    if (maxResults !== undefined && objects.length >= maxResults) break
  }
  if (objects.length === 0) throw createNoObjectsProblem(key, emptyCount, hasKeysInDeeperFolders)
  return { isSingle: false, objects: sortByKey(objects), emptyCount }
}

/** Sorts objects by the UTF-8 bytes of their keys, as object stores do. */
export const sortByKey = (objects: readonly StoredObject[]): StoredObject[] =>
  objects.toSorted((first, second) => Buffer.compare(Buffer.from(first.key), Buffer.from(second.key)))

/** Yields the objects with keys that match the pattern, in the order of the store. Calls `onSkipped` for all others. */
async function* listMatchingObjects(
  { store, retryPolicy, onPage }: ObjectSelection,
  pattern: KeyPattern,
  onSkipped: (object: StoredObject) => void,
  signal: AbortSignal,
): AsyncGenerator<StoredObject, void, void> {
  let listedCount = 0
  let nextToken: string | undefined
  do {
    const page = await retry(() => store.list(pattern.prefix, nextToken, signal), { policy: retryPolicy, signal })
    let lastYield = performance.now()
    for (const object of page.objects) {
      if (pattern.matches(object.key)) yield object
      else onSkipped(object)
      // Yields to the event loop regularly, because comparing long keys with long patterns would block it.
      if (performance.now() - lastYield < maxBlockingMs) continue
      await yieldToEventLoop(undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
      lastYield = performance.now()
    }
    onPage?.()
    listedCount += Math.max(1, page.objects.length)
    if (listedCount > maxListedKeys) throw createTooManyKeysProblem(pattern.prefix)
    // Ends the listing if a store returns the same page token again, because the loop would never end.
    nextToken = page.next === nextToken ? undefined : page.next
  } while (nextToken)
}

/** Returns the number of segments of a key that slashes separate. */
const countSegments = (key: string): number => key.replace(/^\/+/, '').split('/').length

/** Returns the pattern extended to subfolders: `a/*.csv` becomes `a/**\/*.csv`. */
const includeSubfolders = (key: string): string => key.replace(/[^/]*$/, (fileName) => `**/${fileName}`)

/** Returns the problem that no object can be read: all are empty, they are in subfolders, or none match. */
function createNoObjectsProblem(key: string, emptyCount: number, hasDeeperKeys: boolean): SourceProblem {
  const createProblem = (message: string) => new SourceProblem('NO_OBJECTS', message)
  if (emptyCount > 0)
    return createProblem(
      `All ${emptyCount} objects that match "${key}" are empty. The old data stays. Write data to them, or correct the key.`,
    )
  const lacksSubfolders = hasDeeperKeys && key.includes('*') && !key.includes('**')
  if (lacksSubfolders)
    return createProblem(
      `No object matches "${key}". \`*\` matches within one folder only; use \`${includeSubfolders(key)}\` to include subfolders, which have matching objects. The old data stays.`,
    )
  return createProblem(
    `No object matches "${key}". Check the key: it must not start with a slash, and a folder must end with one. The old data stays.`,
  )
}

const createTooManyObjectsProblem = (key: string): SourceProblem =>
  new SourceProblem(
    'TOO_MANY_OBJECTS',
    `More than ${maxObjects} objects match "${key}". Use a narrower key, or combine the data into fewer objects.`,
  )

const createTooManyKeysProblem = (prefix: string): SourceProblem =>
  new SourceProblem(
    'TOO_MANY_OBJECTS',
    `More than ${maxListedKeys} keys start with "${prefix}". Make the part of the key before its first pattern character longer.`,
  )
