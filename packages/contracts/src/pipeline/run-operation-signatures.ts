import { listOf, type Contract } from '../contract.ts'
import { ResultEnvelope } from '../result-envelope.ts'
import { defineSignature } from '../operation-signature.ts'
import type { Role } from '../roles.ts'
import { exportFileTypes } from './export-format.ts'
import { PageQuery, RejectedRow, RejectedRowsQuery, Run, RunBody } from './run.ts'

interface RunnableResource<Path extends string> {
  noun: string
  plural: string
  path: Path
  see: readonly Role[]
  manage: readonly Role[]
}

/**
 * Returns the signatures of the operations that queue, cancel and list the runs of one type of object, such as data
 * pipelines.
 */
export function defineRunSignatures<const Path extends string>({
  noun,
  plural,
  path,
  see,
  manage,
}: RunnableResource<Path> & Partial<Record<'resource' | 'body', Contract<any>>>) {
  return {
    run: defineSignature({
      id: `${plural}.run`,
      summary: 'Queue a run',
      description: `Returns the current run of the ${noun} if one is queued or running.`,
      method: 'post',
      path: `${path}/:uid/run` as const,
      guard: manage,
      status: 202,
      body: RunBody,
      response: ResultEnvelope,
    }),
    cancel: defineSignature({
      id: `${plural}.cancel`,
      summary: 'Cancel the queued or running run',
      method: 'post',
      path: `${path}/:uid/cancel` as const,
      guard: manage,
      status: 202,
      response: ResultEnvelope,
    }),
    runs: defineSignature({
      id: `${plural}.runs`,
      summary: 'List runs, newest first',
      method: 'get',
      path: `${path}/:uid/runs` as const,
      guard: see,
      query: PageQuery,
      response: listOf(Run),
      paged: true,
    }),
  }
}

/** Returns the signature of the operation that lists the rows that a run rejected. */
export function defineRejectedRowsSignature<const Path extends string>(
  { plural, path, see }: Pick<RunnableResource<Path>, 'plural' | 'path' | 'see'>,
  summary: string,
) {
  return {
    rejectedRows: defineSignature({
      id: `${plural}.rejectedRows`,
      summary,
      method: 'get',
      path: `${path}/:uid/runs/:taskId/rejected-rows` as const,
      guard: see,
      query: RejectedRowsQuery,
      fileTypes: exportFileTypes,
      response: listOf(RejectedRow),
      paged: true,
    }),
  }
}
