import { pipelineOperations, type DeletedClient } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { isUid } from '@sluice/records'
import { eraseAfterDays, eraseBulkData, eraseClientRows, listClientsWithData } from '../../erasure/erase-client.ts'
import { definePipelineOperation, type PipelineContext } from '../operation-context.ts'

const { deletedClients: signatures } = pipelineOperations

const dayMs = 86_400_000

export const deletedClientOperations = {
  list: definePipelineOperation(signatures.list, async (input): Promise<DeletedClient[]> => {
    const deleted = await input.identity.deletedClients(await listClientsWithData(input.db))
    return deleted.slice(0, 1000).map((client) => ({
      ...client,
      eraseAfter: new Date(Date.parse(client.deleted) + eraseAfterDays * dayMs).toISOString(),
    }))
  }),

  erase: definePipelineOperation(signatures.erase, async (input) => {
    const { db, warehouses, readers, files, params, write, request } = input
    const { code } = await readDeletedClient(params.uid, input)
    const client = params.uid.toLowerCase()
    await eraseBulkData({ db, warehouses, readers, filesDirectory: files.directory }, client)
    await write(async (trx) => request.audit(client, { code, erased: await eraseClientRows(trx, client) }))
    return undefined
  }),
}

/**
 * Returns a deleted organisation. Throws 404 if it still exists, never existed, or has no data left in this service.
 */
async function readDeletedClient(uid: string, { db, identity }: Pick<PipelineContext, 'db' | 'identity'>) {
  const client = uid.toLowerCase()
  const hasData = isUid(uid) && (await listClientsWithData(db)).includes(client)
  const [deletedClient] = hasData ? await identity.deletedClients([client]) : []
  if (!deletedClient) throw problems.notFound('deleted client')
  return deletedClient
}
