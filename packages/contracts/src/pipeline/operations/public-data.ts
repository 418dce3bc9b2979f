import { signature } from '../../operation-signature.ts'
import { PublicData, PublicDataQuery, PublicMetadata } from '../public-data.ts'

const open = 'Requires no token. Returns 404 if `anonymousAccess` of the object does not allow the request.'

const metadata = <const Path extends string>(id: string, what: string, path: Path) =>
  signature({
    id,
    summary: `Read the public metadata of ${what}`,
    description: open,
    method: 'get',
    path,
    guard: 'anyone',
    response: PublicMetadata,
  })

const data = <const Path extends string>(id: string, what: string, path: Path) =>
  signature({
    id,
    summary: `Read the public rows of ${what}`,
    description: open,
    method: 'get',
    path,
    guard: 'anyone',
    query: PublicDataQuery,
    response: PublicData,
  })

export const publicSignatures = {
  dataPipeline: metadata('public.dataPipeline', 'a data pipeline', '/public/data-pipelines/:uid'),
  dataPipelineData: data('public.dataPipelineData', 'a data pipeline', '/public/data-pipelines/:uid/data'),
  view: metadata('public.view', 'a view', '/public/views/:uid'),
  viewData: data('public.viewData', 'a view', '/public/views/:uid/data'),
}
