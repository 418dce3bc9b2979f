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
  /** A super admin. */
  admin: Awaited<ReturnType<Service['as']>>
}

export interface ValidRequest {
  /** The values of `:uid` and of the other parameters in the path. */
  uid?: string
  params?: Record<string, string>
  query?: string
  body?: object
  /** The caller. By default, the request is sent by a new super admin. */
  by?: Pick<Stage['admin'], 'get' | 'post' | 'put' | 'patch' | 'delete'>
}

export type ValidRequests = Record<string, () => Promise<ValidRequest>>

/** Creates a valid request for each operation. Add new operations to the file of their noun. */
export const validRequests = (stage: Stage): ValidRequests => ({
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
