import type { providerSchemas } from '@sluice/contracts'
import { Problem } from '@sluice/http'
import { cannotUndoIn, undoable } from '../../warehouse-products.ts'

/** Throws 422 `not-supported-here` for a schema whose warehouse has neither dry runs nor a previous publication. */
export function assertUndo(provider: (typeof providerSchemas)[number]): void {
  if (undoable.has(provider)) return
  throw new Problem(422, 'not-supported-here', 'The warehouse refused.', { detail: cannotUndoIn(provider) })
}
