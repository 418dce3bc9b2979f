import type { Connector } from './connector.ts'

/** A source kind with all operations; `lookup` is optional. */
export type CompleteConnector = Required<Omit<Connector, 'listOptions'>> & Pick<Connector, 'listOptions'>

/** A source whose module is imported at its first use: most processes use few sources, and unused modules take no memory. */
export function lazySource(load: () => Promise<CompleteConnector>): Connector {
  let loaded: Promise<CompleteConnector> | undefined
  const kind = () => (loaded ??= load())
  return {
    canReadIncrement: async (reading) => (await kind()).canReadIncrement(reading),
    async *read(reading, report, signal) {
      yield* (await kind()).read(reading, report, signal)
    },
    getCursorKind: async () => (await kind()).getCursorKind(),
    testConnection: async (reading, signal) => (await kind()).testConnection(reading, signal),
    listOptions: async (what, reading, signal) => (await kind()).listOptions?.(what, reading, signal),
    preview: async (reading, rows, signal) => (await kind()).preview(reading, rows, signal),
  }
}
