import type { KnownType, PipelineKind } from './pipeline-type.ts'

/** What all types have in common that load an uploaded file: it is loaded when somebody says so, and holds no secrets. */
export const uploaded = {
  scheduleable: false,
  check: () => {},
  secrets: () => ({}),
  sourceName: () => undefined,
} satisfies Partial<PipelineKind<KnownType, object>>
