import type { Feed, Report } from '../source.ts'
import { twoHalves } from '../two-halves.ts'
import { chooseObjects } from './choose-objects.ts'
import { fetchObject, type ObjectReading, readLocalObject } from './read-object.ts'
import { readTogether } from './read-together.ts'

/** The objects that a key means, as one table. Throws `SourceProblem`, or the signal's reason. */
export async function* readObjects(
  reading: ObjectReading,
  key: string,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Feed, void, void> {
  const { store, retrying } = reading
  const onPage = () => report.progress({})
  const { single, objects, empty } = await chooseObjects({ store, key, retrying, onPage }, signal)
  if (!single) {
    const left = empty > 0 ? `; ${empty} more are empty and left out` : ''
    const bytes = objects.reduce((sum, { size }) => sum + size, 0)
    report.log('INFO', 'LOW', `${objects.length} objects of ${bytes} bytes in all fit "${key}"${left}.`)
    return yield* readTogether(reading, objects, report, signal)
  }
  const [object] = objects
  const { first, second } = twoHalves(report)
  const onProgress = (bytes: number) => first(bytes, object!.size)
  using local = await fetchObject(reading, object!, { log: report.log.bind(report), onProgress }, signal)
  yield* readLocalObject(reading, local, { ...report, progress: second(local.size) }, signal)
}
