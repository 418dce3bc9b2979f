import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { ListQuery } from '../../search.ts'
import {
  PublicDataset,
  PublicDatasetBody,
  PublicDatasetFileQuery,
  PublicDatasetForm,
  PublicDatasetUploadQuery,
} from '../public-dataset.ts'
import { exportFileTypes } from '../export-format.ts'
import { DataQuery, QueryResult } from '../table.ts'

const datasetManagerRoles = ['ROLE_MANAGE_PUBLIC_DATASET_CATALOG'] as const
const datasetPath = '/public-datasets/:key'

export const publicDatasetSignatures = {
  list: defineSignature({
    id: 'publicDatasets.list',
    summary: 'List public datasets',
    description: 'Returns the datasets of all organisations, without their tables.',
    method: 'get',
    path: '/public-datasets',
    guard: 'signed-in',
    query: ListQuery,
    response: listOf(PublicDataset),
    paged: true,
  }),
  create: defineSignature({
    id: 'publicDatasets.create',
    summary: 'Upload a public dataset',
    description:
      'The body is a form whose last part is `file`. The file is loaded like a CSV_UPLOAD while the request waits. If the load takes longer, it continues in the background, and the response has no table. A file that cannot be loaded is rejected, and no dataset is created.',
    method: 'post',
    path: '/public-datasets',
    guard: datasetManagerRoles,
    status: 201,
    upload: 'multipart/form-data',
    form: PublicDatasetForm,
    query: PublicDatasetUploadQuery,
    response: PublicDataset,
    versioned: true,
  }),
  read: defineSignature({
    id: 'publicDatasets.read',
    summary: 'Read a public dataset',
    method: 'get',
    path: datasetPath,
    guard: 'signed-in',
    response: PublicDataset,
    versioned: true,
  }),
  update: defineSignature({
    id: 'publicDatasets.update',
    summary: 'Replace the metadata of a public dataset',
    description:
      'You can only change datasets of your organisation. A change of headerRow loads the file again; other changes keep the rows.',
    method: 'put',
    path: datasetPath,
    guard: datasetManagerRoles,
    body: PublicDatasetBody,
    response: PublicDataset,
    versioned: true,
  }),
  delete: defineSignature({
    id: 'publicDatasets.delete',
    summary: 'Delete a public dataset',
    description: 'You can only delete datasets of your organisation that no data pipeline loads.',
    method: 'delete',
    path: datasetPath,
    guard: datasetManagerRoles,
    versioned: true,
  }),
  upload: defineSignature({
    id: 'publicDatasets.upload',
    summary: 'Replace the rows of a public dataset',
    description:
      'The body is the file. The old rows stay until the file is loaded, and also if it cannot be loaded. A file with mostly different columns is rejected unless the query contains rebuild=true.',
    method: 'post',
    path: '/public-datasets/:key/file',
    guard: datasetManagerRoles,
    ifMatch: true,
    upload: 'application/octet-stream',
    query: PublicDatasetFileQuery,
    response: PublicDataset,
  }),
  data: defineSignature({
    id: 'publicDatasets.data',
    summary: 'Read the rows of a public dataset',
    method: 'get',
    path: '/public-datasets/:key/data',
    guard: 'signed-in',
    query: DataQuery,
    fileTypes: exportFileTypes,
    response: QueryResult,
  }),
}
