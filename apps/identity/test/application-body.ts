import { randomBytes } from 'node:crypto'
import type { SsoClientConfigBody } from '@sluice/contracts'

/** A valid body for an application config, with a unique client id. */
export const applicationBody = (changes: Partial<SsoClientConfigBody> = {}): SsoClientConfigBody => ({
  ssoClientId: `app-${randomBytes(6).toString('hex')}`,
  clientSecret: randomBytes(32).toString('base64url'),
  clientName: 'Reports',
  redirectUris: ['https://reports.example.org/callback'],
  scopes: ['openid', 'profile', 'email', 'offline_access', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'],
  grantTypes: [{ value: 'authorization_code' }, { value: 'refresh_token' }, { value: 'client_credentials' }],
  ...changes,
})
