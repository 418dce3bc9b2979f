import { createOperationDefiner, type Caller, type RequestFacts } from '@sluice/http-server'
import type { DatabaseContext } from '@sluice/records'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'
import type { OpenIdProvider } from '../openid-provider/openid-provider.ts'
import type { Federation } from '../sign-in/federated/provider-metadata.ts'
import type { SigningKeys } from '../sign-in/tokens/signing-keys.ts'

/** The dependencies of every operation handler. */
export interface IdentityContext extends DatabaseContext<DB> {
  config: Config
  keys: SigningKeys
  federation: Federation
  oidc: Pick<OpenIdProvider, 'findRejectionReason'>
}

/** The context of one request: the dependencies, the caller and facts about the request. */
export type IdentityRequestContext = IdentityContext & { caller: Caller; request: RequestFacts }

export const defineIdentityOperation = createOperationDefiner<IdentityContext>()

export const discard = () => undefined
