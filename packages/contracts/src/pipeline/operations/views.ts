import { Type } from 'typebox'
import { defineSignature } from '../../operation-signature.ts'
import { defineBulkSignature, defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { defineRunSignatures } from '../run-operation-signatures.ts'
import { exportFileTypes } from '../export-format.ts'
import { defineLineageSignature } from '../lineage.ts'
import { DataQuery, QueryResult, Table } from '../table.ts'
import { View, ViewBody, ViewPreviewBody } from '../view.ts'

const viewResource = {
  noun: 'view',
  plural: 'views',
  path: '/views',
  see: ['ROLE_SEE_VIEW'],
  manage: ['ROLE_MANAGE_VIEW'],
  resource: View,
  body: ViewBody,
} as const

const { see, manage } = viewResource

export const viewSignatures = {
  ...defineBulkSignature(viewResource, {
    more: {
      pending: Type.Boolean({ description: 'Whether a run still has to create or change the view in the warehouse.' }),
    },
    note: ' Runs then create or change the views in the warehouse. A query that the warehouse rejects makes its run fail.',
  }),
  ...defineRecordSignatures(viewResource),
  ...defineSharingSignature(viewResource),
  ...defineLineageSignature(viewResource),
  ...defineRunSignatures(viewResource),
  preview: defineSignature({
    id: 'views.preview',
    summary: 'Preview a query before it is saved as a view',
    description: 'All other fields of a view are accepted and ignored.',
    method: 'post',
    path: '/views/preview',
    guard: manage,
    effect: 'read',
    body: ViewPreviewBody,
    response: QueryResult,
  }),
  table: defineSignature({
    id: 'views.table',
    summary: 'Read the table of a view: columns, and rows and size if it is materialised',
    description: 'A view that is not materialised stores no rows, so its rowCount and size are 0.',
    method: 'get',
    path: '/views/:uid/table',
    guard: see,
    response: Table,
  }),
  data: defineSignature({
    id: 'views.data',
    summary: 'Read the rows of a view',
    method: 'get',
    path: '/views/:uid/data',
    guard: see,
    query: DataQuery,
    fileTypes: exportFileTypes,
    response: QueryResult,
  }),
}
