import { identityOperations, toSearchRequest } from '@sluice/contracts'
import { defineIdentityOperation } from '../operation-context.ts'
import { ssoClientConfigRecords } from './records.ts'
import { createSsoClientConfig, deleteSsoClientConfig, updateSsoClientConfig } from './write.ts'

const { ssoClientConfigs } = identityOperations

export const ssoClientConfigOperations = {
  list: defineIdentityOperation(ssoClientConfigs.list, (input) =>
    ssoClientConfigRecords.search(input.db, input, toSearchRequest(input.query), input.request.url),
  ),

  create: defineIdentityOperation(ssoClientConfigs.create, async (input) =>
    ssoClientConfigRecords.created(await createSsoClientConfig(input.body, input), input),
  ),

  read: defineIdentityOperation(ssoClientConfigs.read, async (input) =>
    ssoClientConfigRecords.answer(await ssoClientConfigRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: defineIdentityOperation(ssoClientConfigs.update, async (input) =>
    ssoClientConfigRecords.answer(await updateSsoClientConfig(input.params, input.body, input), input),
  ),

  updateForClient: defineIdentityOperation(ssoClientConfigs.updateForClient, async (input) =>
    ssoClientConfigRecords.answer(await updateSsoClientConfig(input.params, input.body, input), input),
  ),

  delete: defineIdentityOperation(ssoClientConfigs.delete, async (input) => {
    await deleteSsoClientConfig(input.params.uid, input)
    return undefined
  }),
}
