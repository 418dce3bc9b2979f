import { defineSignature } from '../../operation-signature.ts'
import { ListQuery } from '../../search.ts'
import { TabularResult } from '../../tabular-result.ts'

export const auditSignatures = {
  list: defineSignature({
    id: 'audit.list',
    summary: 'Audit log',
    description:
      'Returns the newest entries of your organisation first: every write and every export, with the values before and after it and without secrets. The details show objects that are not shared with you. `metaData.pager.nextCursor` is the `after` of the next page. Add a filter on "at" to search a long log faster.',
    method: 'get',
    path: '/audit',
    guard: ['ROLE_SEE_AUDIT_LOG'],
    query: ListQuery,
    response: TabularResult,
  }),
}
