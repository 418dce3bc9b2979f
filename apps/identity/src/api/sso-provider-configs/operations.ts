import { identityOperations, toSearchRequest } from '@sluice/contracts'
import { toProviderConfig } from '../../sign-in/federated/provider-config.ts'
import { testProvider } from '../../sign-in/federated/check-provider-configuration.ts'
import { defineIdentityOperation } from '../operation-context.ts'
import { ssoProviderConfigRecords } from './records.ts'
import {
  updateProviderConfigOfClient,
  createSsoProviderConfig,
  deleteSsoProviderConfig,
  updateSsoProviderConfig,
} from './write.ts'

const { ssoProviderConfigs } = identityOperations

export const ssoProviderConfigOperations = {
  list: defineIdentityOperation(ssoProviderConfigs.list, (input) =>
    ssoProviderConfigRecords.search(input.db, input, toSearchRequest(input.query), input.request.url),
  ),

  create: defineIdentityOperation(ssoProviderConfigs.create, async (input) =>
    ssoProviderConfigRecords.created(await createSsoProviderConfig(input.body, input), input),
  ),

  read: defineIdentityOperation(ssoProviderConfigs.read, async (input) =>
    ssoProviderConfigRecords.answer(
      await ssoProviderConfigRecords.read(input.db, input.caller, input.params.uid),
      input,
    ),
  ),

  update: defineIdentityOperation(ssoProviderConfigs.update, async (input) =>
    ssoProviderConfigRecords.answer(await updateSsoProviderConfig(input.params.uid, input.body, input), input),
  ),

  updateForClient: defineIdentityOperation(ssoProviderConfigs.updateForClient, (input) =>
    updateProviderConfigOfClient(input.params, input.body, input),
  ),

  delete: defineIdentityOperation(ssoProviderConfigs.delete, async (input) => {
    await deleteSsoProviderConfig(input.params.uid, input)
    return undefined
  }),

  test: defineIdentityOperation(ssoProviderConfigs.test, async ({ db, caller, params, config, federation }) => {
    const row = await ssoProviderConfigRecords.read(db, caller, params.uid)
    return testProvider(toProviderConfig(row, config), federation)
  }),
}
