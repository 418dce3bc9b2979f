import { defineSignature } from '../../operation-signature.ts'
import { bulkSignature, recordSignatures, sharingSignatures } from '../../crud-signatures.ts'
import { runSignatures } from '../run-operation-signatures.ts'
import { lineageSignature } from '../lineage.ts'
import { Workflow, WorkflowBody, WorkflowSearchResult } from '../workflow.ts'

const workflowResource = {
  noun: 'workflow',
  plural: 'workflows',
  path: '/workflows',
  see: ['ROLE_SEE_WORKFLOW'],
  manage: ['ROLE_MANAGE_WORKFLOW'],
  resource: Workflow,
  body: WorkflowBody,
} as const

const { list, search, ...records } = recordSignatures(workflowResource)
const unpagedResponse = { paged: false, response: WorkflowSearchResult }

export const workflowSignatures = {
  ...bulkSignature(workflowResource),
  list: defineSignature({ ...list, ...unpagedResponse }),
  search: defineSignature({ ...search, ...unpagedResponse }),
  ...records,
  ...sharingSignatures(workflowResource),
  ...lineageSignature(workflowResource),
  ...runSignatures(workflowResource),
}
