import type { SearchRequest, Workflow, WorkflowSearchResult } from '@sluice/contracts'
import { Answer } from '@sluice/http'

/** A page of workflows as an object, with its totals beside the results as well as in the headers. */
export function asSearchResult(
  { body, headers }: Answer<Workflow[]>,
  { paging }: SearchRequest,
): Answer<WorkflowSearchResult> {
  const page = Number(headers['X-Page'])
  const pageSize = Number(headers['X-Page-Size'])
  const total = headers['X-Total-Count']
  const pager = {
    page,
    pageSize,
    offset: paging.after === undefined ? (page - 1) * pageSize : 0,
    ...(total !== undefined && { totalCount: Number(total), pageCount: Number(headers['X-Page-Count']) }),
  }
  return new Answer({ results: body, pager }, headers)
}
