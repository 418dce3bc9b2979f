import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { ListQuery } from '../../search.ts'
import {
  PublicDataset,
  PublicDatasetBody,
  PublicDatasetFileQuery,
  PublicDatasetForm,
  PublicDatasetUploadQuery,
} from '../public-dataset.ts'
import { DataQuery, QueryResult } from '../table.ts'

const manage = ['ROLE_MANAGE_PUBLIC_DATASET_CATALOG'] as const
const one = '/public-datasets/:key'

export const publicDatasetSignatures = {
  list: signature({
    id: 'publicDatasets.list',
    summary: 'List public datasets',
    description: 'Of all organisations. Lists omit the tables.',
    method: 'get',
    path: '/public-datasets',
    guard: 'signed-in',
    query: ListQuery,
    response: listOf(PublicDataset),
    paged: true,
  }),
  create: signature({
    id: 'publicDatasets.create',
    summary: 'Upload a public dataset',
    description:
      'A form: its fields, and then the part `file`, streamed. The file is loaded as a CSV_UPLOAD is, while the request waits; what takes longer than that is answered without a table, and loaded all the same. A file that cannot be loaded is refused, and leaves nothing.',
    method: 'post',
    path: '/public-datasets',
    guard: manage,
    status: 201,
    upload: 'multipart/form-data',
    form: PublicDatasetForm,
    query: PublicDatasetUploadQuery,
    response: PublicDataset,
    versioned: true,
  }),
  read: signature({
    id: 'publicDatasets.read',
    summary: 'Read a public dataset',
    method: 'get',
    path: one,
    guard: 'signed-in',
    response: PublicDataset,
    versioned: true,
  }),
  update: signature({
    id: 'publicDatasets.update',
    summary: 'Replace the metadata of a public dataset',
    description: 'For datasets of your own organisation. The rows stay unless headerRow changes.',
    method: 'put',
    path: one,
    guard: manage,
    body: PublicDatasetBody,
    response: PublicDataset,
    versioned: true,
  }),
  delete: signature({
    id: 'publicDatasets.delete',
    summary: 'Delete a public dataset',
    description: 'For datasets of your own organisation that no data pipeline loads.',
    method: 'delete',
    path: one,
    guard: manage,
    versioned: true,
  }),
  upload: signature({
    id: 'publicDatasets.upload',
    summary: 'Replace the rows of a public dataset',
    description:
      'The body is the file, streamed. The old rows stay until the file is loaded, and if it cannot be loaded. A file with mostly different columns is rejected unless the query has rebuild=true.',
    method: 'post',
    path: '/public-datasets/:key/file',
    guard: manage,
    ifMatch: true,
    upload: 'application/octet-stream',
    query: PublicDatasetFileQuery,
    response: PublicDataset,
  }),
  data: signature({
    id: 'publicDatasets.data',
    summary: 'Read the rows of a public dataset',
    method: 'get',
    path: '/public-datasets/:key/data',
    guard: 'signed-in',
    query: DataQuery,
    response: QueryResult,
  }),
}
