import { operationsWith, type Caller, type RequestFacts } from '@sluice/http'
import type { DatabaseContext } from '@sluice/records'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'
import type { OpenIdProvider } from '../oidc/openid-provider.ts'
import type { Federation } from '../sign-in/federated/federation.ts'
import type { SigningKeys } from '../sign-in/keys.ts'
import type { SignInBatchers } from '../sign-in/batched-sign-in.ts'

/** The dependencies of every operation handler. */
export interface IdentityContext extends DatabaseContext<DB> {
  config: Config
  keys: SigningKeys
  federation: Federation
  signInBatchers: SignInBatchers
  oidc: Pick<OpenIdProvider, 'refusalOf'>
}

/** The same with the facts of one request: what presenting a row needs. */
export type IdentityRequestContext = IdentityContext & { caller: Caller; request: RequestFacts }

export const operation = operationsWith<IdentityContext>()
