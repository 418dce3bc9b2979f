import { identityOperations, searchOf } from '@sluice/contracts'
import { operation } from '../operation-context.ts'
import { ssoClientConfigRecords } from './records.ts'
import { createSsoClientConfig, deleteSsoClientConfig, updateSsoClientConfig } from './write.ts'

const { ssoClientConfigs } = identityOperations

export const ssoClientConfigOperations = {
  list: operation(ssoClientConfigs.list, (input) =>
    ssoClientConfigRecords.search(input.db, input, searchOf(input.query), input.request.url),
  ),

  create: operation(ssoClientConfigs.create, async (input) =>
    ssoClientConfigRecords.created(await createSsoClientConfig(input.body, input), input),
  ),

  read: operation(ssoClientConfigs.read, async (input) =>
    ssoClientConfigRecords.answer(await ssoClientConfigRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: operation(ssoClientConfigs.update, async (input) =>
    ssoClientConfigRecords.answer(await updateSsoClientConfig(input.params, input.body, input), input),
  ),

  updateForClient: operation(ssoClientConfigs.updateForClient, async (input) =>
    ssoClientConfigRecords.answer(await updateSsoClientConfig(input.params, input.body, input), input),
  ),

  delete: operation(ssoClientConfigs.delete, async (input) => {
    await deleteSsoClientConfig(input.params.uid, input)
    return undefined
  }),
}
