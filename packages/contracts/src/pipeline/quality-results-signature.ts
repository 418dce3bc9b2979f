import { listOf } from '../contract.ts'
import { defineSignature } from '../operation-signature.ts'
import type { Role } from '../roles.ts'
import { CheckResult } from './data-quality-result.ts'
import { PageQuery } from './run.ts'

/**
 * Returns the signature of the operation that returns the check results of one run: a run of a check group, or of a
 * pipeline with such a group.
 */
export function defineQualityResultsSignature<const Path extends string>({
  plural,
  path,
  see,
}: {
  plural: string
  path: Path
  see: readonly Role[]
}) {
  return {
    qualityResults: defineSignature({
      id: `${plural}.qualityResults`,
      summary: 'List the results of the data quality checks of a run',
      description: 'The field `data` contains violating rows if the caller may read the check.',
      method: 'get',
      path: `${path}/:uid/runs/:taskId/quality-results` as const,
      guard: see,
      query: PageQuery,
      response: listOf(CheckResult),
      paged: true,
    }),
  }
}
