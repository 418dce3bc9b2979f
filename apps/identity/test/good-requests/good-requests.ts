import type { Service } from '../app-under-test.ts'
import { accountRequests } from './account.ts'
import { allowedApplicationRequests } from './allowed-applications.ts'
import { authRequests } from './auth.ts'
import { clientRequests } from './clients.ts'
import { lookupRequests } from './service-lookups.ts'
import { mailRequests } from './mails.ts'
import { reportRequests } from './reports.ts'
import { sessionRequests } from './session.ts'
import { ssoClientConfigRequests } from './sso-client-configs.ts'
import { userGroupRequests } from './user-groups.ts'
import { ssoProviderConfigRequests } from './sso-provider-configs.ts'
import { userRequests } from './users.ts'

export interface Stage {
  service: Service
  /** Somebody who may do everything. */
  admin: Awaited<ReturnType<Service['as']>>
}

export interface GoodRequest {
  /** What stands for `:uid` and for the other names in the path. */
  uid?: string
  params?: Record<string, string>
  query?: string
  body?: object
  /** Who asks, where it is not somebody new who may do everything. */
  by?: Pick<Stage['admin'], 'get' | 'post' | 'put' | 'delete'>
}

export type GoodRequests = Record<string, () => Promise<GoodRequest>>

/** A good request of every operation. A new operation has to be added in the file of its noun. */
export const goodRequests = (stage: Stage): GoodRequests => ({
  ...clientRequests(stage),
  ...userRequests(stage),
  ...ssoProviderConfigRequests(stage),
  ...userGroupRequests(stage),
  ...sessionRequests(stage),
  ...reportRequests(),
  ...ssoClientConfigRequests(stage),
  ...accountRequests(stage),
  ...allowedApplicationRequests(stage),
  ...authRequests(stage),
  ...mailRequests(stage),
  ...lookupRequests(stage),
})
