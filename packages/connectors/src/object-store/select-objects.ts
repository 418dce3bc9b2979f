import { setImmediate as breathe } from 'node:timers/promises'
import { SourceProblem } from '@sluice/row-stream'
import { type KeyPattern, compileKeyPattern } from './key-pattern.ts'
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
 * Returns the objects that match a pipeline's `key` setting. Throws OBJECT_MISSING, NO_OBJECTS, TOO_MANY_OBJECTS, or an
 * error of the store.
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
  let hasDeeperKeys = false
  const folderCount = countFolders(key)
  const noteSkippedKey = ({ key: other }: StoredObject) => {
    hasDeeperKeys ||= countFolders(other) > folderCount
  }
  for await (const object of listMatchingObjects(selection, pattern, noteSkippedKey, signal)) {
    // Leaves out empty objects: consoles create them as folders, and tools as markers such as _SUCCESS.
    if (object.size === 0) emptyCount += 1
    else objects.push(object)
    if (objects.length > maxObjects) throw createTooManyObjectsProblem(key)
    if (maxResults !== undefined && objects.length >= maxResults) break
  }
  if (objects.length === 0) throw createNoObjectsProblem(key, emptyCount, hasDeeperKeys)
  return { isSingle: false, objects: sortByKey(objects), emptyCount }
}

export const sortByKey = (objects: readonly StoredObject[]): StoredObject[] =>
  objects.toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)))

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
    let lastBreak = performance.now()
    for (const object of page.objects) {
      if (pattern.matches(object.key)) yield object
      else onSkipped(object)
      // Yields to the event loop regularly, because comparing long keys with long patterns would block it.
      if (performance.now() - lastBreak < maxBlockingMs) continue
      await breathe(undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
      lastBreak = performance.now()
    }
    onPage?.()
    listedCount += Math.max(1, page.objects.length)
    if (listedCount > maxListedKeys) throw createTooManyKeysProblem(pattern.prefix)
    // Ends the listing if a store returns the same page token again, because the loop would never end.
    nextToken = page.next === nextToken ? undefined : page.next
  } while (nextToken)
}

const countFolders = (key: string): number => key.replace(/^\/+/, '').split('/').length

/** Returns the pattern extended to subfolders: `a/*.csv` becomes `a/**\/*.csv`. */
const includeSubfolders = (key: string): string => key.replace(/[^/]*$/, (fileName) => `**/${fileName}`)

const createNoObjectsProblem = (key: string, emptyCount: number, hasDeeperKeys: boolean): SourceProblem =>
  new SourceProblem(
    'NO_OBJECTS',
    emptyCount > 0
      ? `All ${emptyCount} objects that match "${key}" are empty. The old data stays. Write data to them, or correct the key.`
      : hasDeeperKeys && key.includes('*') && !key.includes('**')
        ? `No object matches "${key}". \`*\` matches within one folder only; use \`${includeSubfolders(key)}\` to include subfolders, which have matching objects. The old data stays.`
        : `No object matches "${key}". Check the key: it must not start with a slash, and a folder must end with one. The old data stays.`,
  )

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
