import { signature } from '../../operation-signature.ts'
import { recordSignatures, sharingSignatures } from '../../crud-signatures.ts'
import { runSignatures } from '../run-signatures.ts'
import { Workflow, WorkflowBody, WorkflowSearchResult } from '../workflow.ts'

const workflow = {
  noun: 'workflow',
  plural: 'workflows',
  path: '/workflows',
  see: ['ROLE_SEE_WORKFLOW'],
  manage: ['ROLE_MANAGE_WORKFLOW'],
  resource: Workflow,
  body: WorkflowBody,
} as const

const { list, search, ...records } = recordSignatures(workflow)
const paged = { paged: false, response: WorkflowSearchResult }

export const workflowSignatures = {
  list: signature({ ...list, ...paged }),
  search: signature({ ...search, ...paged }),
  ...records,
  ...sharingSignatures(workflow),
  ...runSignatures(workflow),
}
