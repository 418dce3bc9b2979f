import { defineSignature } from '../../operation-signature.ts'
import { exportFileTypes } from '../export-format.ts'
import { PublicData, PublicDataQuery, PublicMetadata } from '../public-data.ts'

const publicAccessNote = 'Requires no token. Returns 404 if `anonymousAccess` of the object does not allow the request.'

const defineMetadataSignature = <const Path extends string>(id: string, part: string, path: Path) =>
  defineSignature({
    id,
    summary: `Read the public metadata of ${part}`,
    description: publicAccessNote,
    method: 'get',
    path,
    guard: 'anyone',
    response: PublicMetadata,
  })

const defineRowsSignature = <const Path extends string>(id: string, part: string, path: Path) =>
  defineSignature({
    id,
    summary: `Read the public rows of ${part}`,
    description: publicAccessNote,
    method: 'get',
    path,
    guard: 'anyone',
    query: PublicDataQuery,
    fileTypes: exportFileTypes,
    response: PublicData,
  })

export const publicSignatures = {
  dataPipeline: defineMetadataSignature('public.dataPipeline', 'a data pipeline', '/public/data-pipelines/:uid'),
  dataPipelineData: defineRowsSignature(
    'public.dataPipelineData',
    'a data pipeline',
    '/public/data-pipelines/:uid/data',
  ),
  view: defineMetadataSignature('public.view', 'a view', '/public/views/:uid'),
  viewData: defineRowsSignature('public.viewData', 'a view', '/public/views/:uid/data'),
}
