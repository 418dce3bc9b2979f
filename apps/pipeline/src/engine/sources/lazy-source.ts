import type { SourceKind } from './reading.ts'

/** A kind that does all that can be done; there may be nothing to look up. */
export type CompleteSourceKind = Required<Omit<SourceKind, 'lookup'>> & Pick<SourceKind, 'lookup'>

/** A kind of source whose code comes with its first use: most processes never read most sources, and what is not there takes no memory. */
export function lazySource(load: () => Promise<CompleteSourceKind>): SourceKind {
  let loaded: Promise<CompleteSourceKind> | undefined
  const kind = () => (loaded ??= load())
  return {
    increments: async (reading) => (await kind()).increments(reading),
    async *read(reading, report, signal) {
      yield* (await kind()).read(reading, report, signal)
    },
    cursor: async () => (await kind()).cursor(),
    test: async (reading, signal) => (await kind()).test(reading, signal),
    lookup: async (what, reading, signal) => (await kind()).lookup?.(what, reading, signal),
    preview: async (reading, rows, signal) => (await kind()).preview(reading, rows, signal),
  }
}
