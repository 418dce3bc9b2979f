import type { PipelineKind } from './pipeline-type.ts'

/** A table of the catalogue, which everybody here may load. Whether there is one is asked when the pipeline is written. */
export const publicDataset: PipelineKind<'PUBLIC_DATASET', { key: string }> = {
  scheduleable: true,
  checkConnection: () => {},
  check: () => {},
  settings: ({ key }) => ({ key }),
  secrets: () => ({}),
  movesTo: () => undefined,
  fields: ({ key }) => ({ key }),
  sourceName: ({ key }) => key,
}
