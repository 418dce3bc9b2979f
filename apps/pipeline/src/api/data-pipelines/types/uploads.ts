import type { KnownType, PipelineKind } from './pipeline-type.ts'

/** What all types have in common that load an uploaded file: it holds no secrets. */
export const uploaded = {
  check: () => {},
  secrets: () => ({}),
  sourceName: () => undefined,
} satisfies Partial<PipelineKind<KnownType, object>>
