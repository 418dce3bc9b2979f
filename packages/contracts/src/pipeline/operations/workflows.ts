import { defineSignature } from '../../operation-signature.ts'
import { defineBulkSignature, defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { defineRunSignatures } from '../run-operation-signatures.ts'
import { defineLineageSignature } from '../lineage.ts'
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

const { list, search, ...records } = defineRecordSignatures(workflowResource)
const unpagedResponse = { paged: false, response: WorkflowSearchResult }

export const workflowSignatures = {
  ...defineBulkSignature(workflowResource),
  list: defineSignature({ ...list, ...unpagedResponse }),
  search: defineSignature({ ...search, ...unpagedResponse }),
  ...records,
  ...defineSharingSignature(workflowResource),
  ...defineLineageSignature(workflowResource),
  ...defineRunSignatures(workflowResource),
}
