import { guardedFetch } from '@sluice/http/guarded-fetch'
import type { OutgoingAllowed } from '@sluice/http/outgoing'
import { spoolDirectory } from '../files/spool/spool-file.ts'
import { previewFeed } from '../preview/preview-feed.ts'
import type { WholeKind } from '../by-need.ts'
import type { Reading } from '../reading.ts'
import type { Report } from '../source.ts'
import { openHttp } from './http/open-http.ts'
import { impatient, type Patience, patient } from './http/patience.ts'
import { goesOn, readSystem } from './read-system.ts'
import type { Asking, System } from './system.ts'
import { mostForWaiting } from './tables/json-limits.ts'
import { type Told, tellReading } from './tell-reading.ts'

export interface SystemParts {
  filesDirectory: string
  /** What the operator lets be reached inside the network, at addresses that users type. */
  allowed: OutgoingAllowed
  /** How patiently a load asks again. */
  patience?: Patience
}

/** Milliseconds: until one answer is there whole, and until a connection is. */
const timeLimit = 300_000
const connectLimit = 10_000
/** Bytes of an answer, and of one that goes to disk. */
const mostHeld = 32_000_000
const mostDownloaded = 8_000_000_000

/** How a system is asked while somebody waits in front of a form. */
const waiting = { patience: impatient, mostValues: mostForWaiting }

interface Wanted {
  signal: AbortSignal
  patience: Patience
  report?: Report
  mostValues?: number
}

/** A system as a source. Its code comes with the first use: most processes never ask most systems. */
export function systemSource(load: () => Promise<System>, parts: SystemParts): WholeKind {
  const { filesDirectory, allowed, patience = patient } = parts
  const directory = spoolDirectory(filesDirectory)

  /** Asks a system for as long as `work` takes; no connection outlives it. */
  async function* asked<T>(
    reading: Reading,
    { signal, patience, report = silent, mostValues }: Wanted,
    work: (system: System, asking: Asking, told: Told) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, void> {
    signal.throwIfAborted()
    const system = await load()
    const { settings, secrets } = reading
    const told = tellReading(report)
    const held = guardedFetch({ allowed, timeLimit, connectLimit, maxBytes: mostHeld, handOnRedirects: true })
    const large = guardedFetch({
      allowed,
      timeLimit: 4 * timeLimit,
      connectLimit,
      maxBytes: mostDownloaded,
      handOnRedirects: true,
    })
    const http = openHttp(system.connect(settings, secrets), {
      fetch: held,
      downloads: large,
      system: system.name,
      secrets: Object.values(secrets),
      patience,
      ...(mostValues !== undefined && { mostValues }),
      directory,
      signal,
      read: (bytes) => told.bytes(bytes),
      waits(problem, seconds) {
        told.log('WARN', 'LOW', `${problem.message} (${problem.code}; asked again in ${Math.ceil(seconds)} seconds)`)
      },
      alive: () => told.alive(),
    })
    try {
      yield* work(
        system,
        { http, settings, secrets, query: reading.query, within: reading.within, signal, log: told.log },
        told,
      )
    } finally {
      await http.signOut()
      await Promise.all([held.close(), large.close()])
    }
  }

  return {
    async increments(reading) {
      return goesOn(await load(), reading)
    },
    async cursor() {
      const { increments, cursorAt } = await load()
      return !increments ? 'NONE' : cursorAt ? 'MOMENT' : 'OPAQUE'
    },
    read: (reading, report, signal) =>
      asked(reading, { signal, patience, report }, (system, asking, told) =>
        readSystem({ system, asking, reading, directory, told }),
      ),
    async test(reading, signal) {
      await only(asked(reading, { signal, ...waiting }, (system, asking) => one(system.test(asking))))
    },
    lookup: (kind, reading, signal) =>
      only(asked(reading, { signal, ...waiting }, (system, asking) => one(system.lookup?.(kind, asking)))),
    preview: (reading, rows, signal) =>
      previewFeed(
        (report, stopping) =>
          asked(reading, { signal: stopping, ...waiting, report }, (system, asking, told) =>
            readSystem({ system, asking, reading, directory, told, most: rows }),
          ),
        rows,
        signal,
      ),
  }
}

const silent: Report = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

async function* one<T>(value: Promise<T> | undefined): AsyncGenerator<T | undefined, void, void> {
  yield await value
}

async function only<T>(values: AsyncIterable<T>): Promise<T | undefined> {
  for await (const value of values) return value
  return undefined
}
