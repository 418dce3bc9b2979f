import type { Feed, Report } from '../source.ts'
import { twoHalves } from '../two-halves.ts'
import { type Chosen, chooseObjects } from './choose-objects.ts'
import type { StoredObject } from './object-store.ts'
import { fetchObject, type ObjectReading, readLocalObject } from './read-object.ts'
import { readTogether } from './read-together.ts'
import { withoutOwn } from './table-of-objects.ts'
import { type Loaded, loadedBefore, loadedNow, whatIsNew } from './what-is-new.ts'

/** What a pipeline asks for. */
export interface Wanted {
  key: string
  /** Everything that decides what the rows are; no secrets. */
  settings: unknown
  /** What an earlier load kept with its rows. */
  cursor?: unknown
}

/** What has come since an earlier load. */
export interface Increment {
  before: Loaded
  fresh: StoredObject[]
}

/**
 * What has come since the load that kept the cursor; undefined where only a full load can tell: some of its objects are
 * others now, or gone. Throws what `chooseObjects` throws.
 */
export async function findIncrement(
  { store, retrying }: ObjectReading,
  { key, settings, cursor }: Wanted,
  signal: AbortSignal,
): Promise<Increment | undefined> {
  const before = loadedBefore(cursor, settings)
  if (!before) return undefined
  const { objects } = await chooseObjects({ store, key, retrying }, signal)
  const { fresh, changed, gone } = whatIsNew(before, objects)
  return changed + gone > 0 ? undefined : { before, fresh }
}

/** The objects that a key means, as one table. Throws `SourceProblem`, or the signal's reason. */
export async function* readObjects(
  reading: ObjectReading,
  { key, settings, cursor }: Wanted,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Feed, void, void> {
  const { store, retrying } = reading
  const chosen = await chooseObjects({ store, key, retrying, onPage: () => report.progress({}) }, signal)
  const { single, objects } = chosen
  const before = loadedBefore(cursor, settings)
  if (before) tellWhyAnew(before, objects, report)
  if (!single) report.log('INFO', 'LOW', whatFits(chosen, key))
  const feeds = single
    ? readOne(reading, objects[0]!, report, signal)
    : readTogether(reading, { objects, keyed: false }, report, signal)
  for await (const feed of feeds)
    yield { ...feed, cursor: () => loadedNow(settings, objects, single ? [] : withoutOwn(feed.columns)) }
}

/** What has come, to be merged with what was there; nothing where nothing has. */
export async function* readIncrement(
  reading: ObjectReading,
  settings: unknown,
  { before, fresh }: Increment,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Feed, void, void> {
  const known = Object.keys(before.objects).length
  report.log('INFO', 'LOW', `${fresh.length} objects are new; ${known} are as they were when they were loaded.`)
  if (fresh.length === 0) return
  for await (const feed of readTogether(
    reading,
    { objects: fresh, before: before.columns, keyed: true },
    report,
    signal,
  )) {
    const now = loadedNow(settings, fresh, withoutOwn(feed.columns))
    yield { ...feed, cursor: () => ({ ...now, objects: { ...before.objects, ...now.objects } }) }
  }
}

async function* readOne(
  reading: ObjectReading,
  object: StoredObject,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Feed, void, void> {
  const { first, second } = twoHalves(report)
  const onProgress = (bytes: number) => first(bytes, object.size)
  const log: Report['log'] = (...line) => report.log(...line)
  using local = await fetchObject(reading, object, { log, onProgress }, signal)
  yield* readLocalObject(reading, local, { ...report, progress: second(local.size) }, signal)
}

function whatFits({ objects, empty }: Chosen, key: string): string {
  const left = empty > 0 ? `; ${empty} more are empty and left out` : ''
  const bytes = objects.reduce((sum, { size }) => sum + size, 0)
  return `${objects.length} objects of ${bytes} bytes in all fit "${key}"${left}.`
}

function tellWhyAnew(before: Loaded, objects: readonly StoredObject[], report: Report): void {
  const { fresh, changed, gone } = whatIsNew(before, objects)
  if (changed + gone === 0) return
  const message = `Since the last load ${changed} objects changed, ${gone} are gone and ${fresh.length} are new: all are read, and take the place of the old rows.`
  report.log('INFO', 'MEDIUM', message)
}
