import type { SourceKind } from './connector.ts'

/** A source kind with all operations; `lookup` is optional. */
export type CompleteSourceKind = Required<Omit<SourceKind, 'lookup'>> & Pick<SourceKind, 'lookup'>

/** A source whose module is imported at its first use: most processes use few sources, and unused modules take no memory. */
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
