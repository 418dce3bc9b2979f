// Generated from packages/contracts by "npm run generate".
import type { Operation } from '../operation.ts'

export const account = {
  /** Change your own password. Ends your other sessions and sends you a notice by email. */
  changePassword: { method: 'put', path: '/users/me/password' } as Operation<'/users/me/password', undefined, ChangePasswordBody, undefined, undefined>,
  /** Change your own e-mail address. Sends a notice to the old address. The service sends no password resets to the new address for one day. */
  changeEmail: { method: 'put', path: '/users/me/email' } as Operation<'/users/me/email', undefined, ChangeEmailBody, undefined, undefined>,
  /** Whether you have a second factor, and how many recovery codes are left. */
  readSecondFactor: { method: 'get', path: '/users/me/second-factor' } as Operation<'/users/me/second-factor', undefined, undefined, SecondFactor, undefined>,
  /** Start the set-up of a second factor. Sign-ins require the second factor after you confirm it. Starting the set-up again replaces an unconfirmed second factor. */
  enrolSecondFactor: { method: 'post', path: '/users/me/second-factor' } as Operation<'/users/me/second-factor', undefined, OwnPasswordBody, SecondFactorEnrolment, undefined>,
  /** Confirm your second factor with its first code. Returns recovery codes, which are shown only once. */
  confirmSecondFactor: { method: 'put', path: '/users/me/second-factor' } as Operation<'/users/me/second-factor', undefined, CodeBody, RecoveryCodes, undefined>,
  /** Remove your second factor. */
  removeSecondFactor: { method: 'delete', path: '/users/me/second-factor' } as Operation<'/users/me/second-factor', undefined, ProofBody, undefined, undefined>,
  /** Replace your recovery codes. */
  renewRecoveryCodes: { method: 'post', path: '/users/me/second-factor/recovery-codes' } as Operation<'/users/me/second-factor/recovery-codes', undefined, ProofBody, RecoveryCodes, undefined>,
  /** List your API tokens. */
  listApiTokens: { method: 'get', path: '/users/me/api-tokens' } as Operation<'/users/me/api-tokens', undefined, undefined, ApiToken[], undefined>,
  /** Create an API token. Only this response contains the token. It becomes invalid when your password changes. The body must contain your password or a code of your second factor. Users without both, who sign in through their organisation, must have signed in within the last 15 minutes. */
  createApiToken: { method: 'post', path: '/users/me/api-tokens' } as Operation<'/users/me/api-tokens', undefined, ApiTokenBody, NewApiToken, undefined>,
  /** Delete one of your API tokens. */
  deleteApiToken: { method: 'delete', path: '/users/me/api-tokens/:uid' } as Operation<'/users/me/api-tokens/:uid', undefined, undefined, undefined, undefined>,
  /** List your open sessions. */
  listSessions: { method: 'get', path: '/users/me/sessions' } as Operation<'/users/me/sessions', undefined, undefined, OpenSession[], undefined>,
  /** End one of your sessions. */
  endSession: { method: 'delete', path: '/users/me/sessions/:uid' } as Operation<'/users/me/sessions/:uid', undefined, undefined, undefined, undefined>,
  /** End all your sessions but this one. */
  endOtherSessions: { method: 'delete', path: '/users/me/sessions' } as Operation<'/users/me/sessions', undefined, undefined, undefined, undefined>,
}

export const allowedApplications = {
  /** List the applications that you allowed to act for you. */
  list: { method: 'get', path: '/users/me/applications' } as Operation<'/users/me/applications', undefined, undefined, AllowedApplication[], undefined>,
  /** Revoke the access of an application. The identity service rejects the tokens of the application immediately, the pipeline service within ten seconds. The next sign-in asks for your consent again. */
  delete: { method: 'delete', path: '/users/me/applications/:uid' } as Operation<'/users/me/applications/:uid', undefined, undefined, undefined, undefined>,
}

export const clients = {
  /** List clients. Needs `ROLE_MANAGE_CLIENT`. */
  list: { method: 'get', path: '/clients' } as Operation<'/clients', ListQuery, undefined, Client[], undefined>,
  /** Search clients. Needs `ROLE_MANAGE_CLIENT`. */
  search: { method: 'post', path: '/clients/search', effect: 'read' } as Operation<'/clients/search', undefined, SearchRequest, Client[], undefined>,
  /** Create a client. Needs `ROLE_SUPER_ADMIN`. */
  create: { method: 'post', path: '/clients' } as Operation<'/clients', undefined, ClientBody, Client, undefined>,
  /** Read a client. Needs `ROLE_MANAGE_CLIENT`. */
  read: { method: 'get', path: '/clients/:uid' } as Operation<'/clients/:uid', undefined, undefined, Client, undefined>,
  /** Replace a client. Needs `ROLE_SUPER_ADMIN`. */
  update: { method: 'put', path: '/clients/:uid' } as Operation<'/clients/:uid', undefined, ClientBody, Client, undefined>,
  /** Delete a client. Needs `ROLE_SUPER_ADMIN`. */
  delete: { method: 'delete', path: '/clients/:uid' } as Operation<'/clients/:uid', undefined, undefined, undefined, undefined>,
  /** Change the public profile of a client. For administrators of the client. Send the whole client: name, translations, contacts and routeNotificationEmailAddresses are changed. The response is 403 if any other field differs from the stored value. Needs `ROLE_MANAGE_CLIENT`. */
  updateProfile: { method: 'put', path: '/clients/:uid/profile' } as Operation<'/clients/:uid/profile', undefined, ClientBody, Client, undefined>,
}

export const users = {
  /** Read your own user. */
  me: { method: 'get', path: '/users/me' } as Operation<'/users/me', undefined, undefined, User, undefined>,
  /** List users. Needs `ROLE_MANAGE_USER`. */
  list: { method: 'get', path: '/users' } as Operation<'/users', UserListQuery, undefined, User[], undefined>,
  /** Search users. Needs `ROLE_MANAGE_USER`. */
  search: { method: 'post', path: '/users/search', effect: 'read' } as Operation<'/users/search', undefined, UserSearchRequest, User[], undefined>,
  /** Create a user. Creates users with `ssoAuth`, who sign in at a provider. Use POST /users/invite for all others, who set their own password. If the operator sets `ADMIN_SETS_PASSWORDS`, this operation also accepts users without `ssoAuth`; their `password` is optional. Needs `ROLE_MANAGE_USER`. */
  create: { method: 'post', path: '/users' } as Operation<'/users', undefined, UserBody, User, undefined>,
  /** Read a user. Needs `ROLE_MANAGE_USER`. */
  read: { method: 'get', path: '/users/:uid' } as Operation<'/users/:uid', undefined, undefined, User, undefined>,
  /** Replace a user. Needs `ROLE_MANAGE_USER`. */
  update: { method: 'put', path: '/users/:uid' } as Operation<'/users/:uid', undefined, UserBody, User, undefined>,
  /** Delete a user. Needs `ROLE_MANAGE_USER`. */
  delete: { method: 'delete', path: '/users/:uid' } as Operation<'/users/:uid', undefined, undefined, undefined, undefined>,
  /** Activate or deactivate a user. INACTIVE ends all sessions and tokens of the user immediately. Needs `ROLE_MANAGE_USER`. */
  setStatus: { method: 'put', path: '/users/:uid/status' } as Operation<'/users/:uid/status', undefined, UserStatusBody, User, undefined>,
  /** Remove the second factor of a user. For users who have lost their second factor. For your own, use DELETE /users/me/second-factor. Needs `ROLE_MANAGE_USER`. */
  removeSecondFactor: { method: 'delete', path: '/users/:uid/second-factor' } as Operation<'/users/:uid/second-factor', undefined, undefined, undefined, undefined>,
  /** List the API tokens of a user. Needs `ROLE_MANAGE_USER`. */
  listApiTokens: { method: 'get', path: '/users/:uid/api-tokens' } as Operation<'/users/:uid/api-tokens', undefined, undefined, ApiToken[], undefined>,
  /** Delete an API token of a user. Needs `ROLE_MANAGE_USER`. */
  deleteApiToken: { method: 'delete', path: '/users/:uid/api-tokens/:apiToken' } as Operation<'/users/:uid/api-tokens/:apiToken', undefined, undefined, undefined, undefined>,
  /** List the open sessions of a user. Needs `ROLE_MANAGE_USER`. */
  listSessions: { method: 'get', path: '/users/:uid/sessions' } as Operation<'/users/:uid/sessions', undefined, undefined, OpenSession[], undefined>,
  /** End all sessions of a user. Needs `ROLE_MANAGE_USER`. */
  endSessions: { method: 'delete', path: '/users/:uid/sessions' } as Operation<'/users/:uid/sessions', undefined, undefined, undefined, undefined>,
  /** Invite a user. Emails a link that can be used once within seven days. If no mail server is configured, the response contains the link for callers who signed in directly. Needs `ROLE_MANAGE_USER`. */
  invite: { method: 'post', path: '/users/invite' } as Operation<'/users/invite', undefined, UserBody, InvitedUser, undefined>,
  /** Invite a user again. Sends a new link by email; the old one becomes invalid. Needs `ROLE_MANAGE_USER`. */
  resendInvitation: { method: 'post', path: '/users/:uid/invite' } as Operation<'/users/:uid/invite', undefined, undefined, InvitedUser, undefined>,
  /** Copy a user. The new user gets the roles, groups and client of the original user, and all other fields from the body. A new user without a password and single sign-on receives an invitation. Returns the original and the new user. Needs `ROLE_MANAGE_USER`. */
  copy: { method: 'post', path: '/users/:uid/copies' } as Operation<'/users/:uid/copies', undefined, UserBody, InvitedUser[], undefined>,
  /** Send a user a password reset link. The link can be used once within one hour. The old password stays valid until the user sets a new one. Needs `ROLE_MANAGE_USER`. */
  startPasswordReset: { method: 'post', path: '/users/:uid/password-reset' } as Operation<'/users/:uid/password-reset', undefined, undefined, undefined, undefined>,
}

export const userGroups = {
  /** List user groups. Needs `ROLE_MANAGE_USER_GROUP`. */
  list: { method: 'get', path: '/user-groups' } as Operation<'/user-groups', ListQuery, undefined, UserGroup[], undefined>,
  /** Search user groups. Needs `ROLE_MANAGE_USER_GROUP`. */
  search: { method: 'post', path: '/user-groups/search', effect: 'read' } as Operation<'/user-groups/search', undefined, SearchRequest, UserGroup[], undefined>,
  /** Create a user group. Needs `ROLE_MANAGE_USER_GROUP`. */
  create: { method: 'post', path: '/user-groups' } as Operation<'/user-groups', undefined, UserGroupBody, UserGroup, undefined>,
  /** Read a user group. Needs `ROLE_MANAGE_USER_GROUP`. */
  read: { method: 'get', path: '/user-groups/:uid' } as Operation<'/user-groups/:uid', undefined, undefined, UserGroup, undefined>,
  /** Replace a user group. Needs `ROLE_MANAGE_USER_GROUP`. */
  update: { method: 'put', path: '/user-groups/:uid' } as Operation<'/user-groups/:uid', undefined, UserGroupBody, UserGroup, undefined>,
  /** Delete a user group. Needs `ROLE_MANAGE_USER_GROUP`. */
  delete: { method: 'delete', path: '/user-groups/:uid' } as Operation<'/user-groups/:uid', undefined, undefined, undefined, undefined>,
  /** List the users in a user group. Needs `ROLE_MANAGE_USER_GROUP`. */
  listMembers: { method: 'get', path: '/user-groups/:uid/users' } as Operation<'/user-groups/:uid/users', ListQuery, undefined, User[], undefined>,
  /** Add a user to a user group. The user must belong to the same client. Members get access to all data that is shared with the group, so only super admins can add themselves or users with roles that the caller lacks. Adding a member again changes nothing. Needs `ROLE_MANAGE_USER_GROUP`. */
  addMember: { method: 'put', path: '/user-groups/:uid/users/:userUid' } as Operation<'/user-groups/:uid/users/:userUid', undefined, undefined, undefined, undefined>,
  /** Remove a user from a user group. Users can remove themselves. Removing a user who is not a member changes nothing. Needs `ROLE_MANAGE_USER_GROUP`. */
  removeMember: { method: 'delete', path: '/user-groups/:uid/users/:userUid' } as Operation<'/user-groups/:uid/users/:userUid', undefined, undefined, undefined, undefined>,
}

export const session = {
  /** Read the signed-in user and the active client. */
  read: { method: 'get', path: '/session' } as Operation<'/session', undefined, undefined, Session, undefined>,
  /** Switch the active client. Changes only this session. Both services use the new client from the next request on. Needs `ROLE_SUPER_ADMIN`. */
  switchClient: { method: 'put', path: '/session/client' } as Operation<'/session/client', undefined, SwitchClientBody, Session, undefined>,
}

export const reports = {
  /** List users and their access. Needs `ROLE_MANAGE_USER`. */
  userAccess: { method: 'get', path: '/reports/user-access' } as Operation<'/reports/user-access', UserListQuery, undefined, TabularResult, undefined>,
  /** Audit log. Returns the newest entries first: operations by members of the client, and operations of others on the client. Super admins see all clients. `metaData.pager.nextCursor` is the `after` of the next page. Add a filter on "at" to search a long log faster. Needs `ROLE_SEE_AUDIT_LOG`. */
  audit: { method: 'get', path: '/reports/audit' } as Operation<'/reports/audit', ListQuery, undefined, TabularResult, undefined>,
}

export const ssoProviderConfigs = {
  /** List SSO provider configs. Needs `ROLE_MANAGE_SSO_PROVIDER_CONFIG`. */
  list: { method: 'get', path: '/sso-provider-configs' } as Operation<'/sso-provider-configs', ListQuery, undefined, SsoProviderConfig[], undefined>,
  /** Create a SSO provider config. A client can have only one provider. Needs `ROLE_MANAGE_SSO_PROVIDER_CONFIG`. */
  create: { method: 'post', path: '/sso-provider-configs' } as Operation<'/sso-provider-configs', undefined, SsoProviderConfigBody, SsoProviderConfig, undefined>,
  /** Read a SSO provider config. Needs `ROLE_MANAGE_SSO_PROVIDER_CONFIG`. */
  read: { method: 'get', path: '/sso-provider-configs/:uid' } as Operation<'/sso-provider-configs/:uid', undefined, undefined, SsoProviderConfig, undefined>,
  /** Replace a SSO provider config. An absent or null clientId or clientSecret keeps the stored value; an empty text deletes it. If you change the address, send the secret again, because a stored secret is never sent to another address. Needs `ROLE_MANAGE_SSO_PROVIDER_CONFIG`. */
  update: { method: 'put', path: '/sso-provider-configs/:uid' } as Operation<'/sso-provider-configs/:uid', undefined, SsoProviderConfigBody, SsoProviderConfig, undefined>,
  /** Replace the SSO provider config of a client, and read its credentials. An absent or null clientId or clientSecret keeps the stored value; an empty text deletes it. If you change the address, send the secret again, because a stored secret is never sent to another address. Only this response contains clientId and clientSecret. Needs `ROLE_SUPER_ADMIN`. */
  updateForClient: { method: 'put', path: '/clients/:clientId/sso-provider-configs/:uid' } as Operation<'/clients/:clientId/sso-provider-configs/:uid', undefined, SsoProviderConfigBody, SsoProviderConfigWithCredentials, undefined>,
  /** Delete a SSO provider config. Needs `ROLE_MANAGE_SSO_PROVIDER_CONFIG`. */
  delete: { method: 'delete', path: '/sso-provider-configs/:uid' } as Operation<'/sso-provider-configs/:uid', undefined, undefined, undefined, undefined>,
  /** Test an SSO provider. Requests the metadata and keys of the provider, and sends an invalid code that it must reject. No user is signed in. A failed test is a successful response with the status ERROR or WARNING and a message. Needs `ROLE_MANAGE_SSO_PROVIDER_CONFIG`. */
  test: { method: 'post', path: '/sso-provider-configs/:uid/test', effect: 'read' } as Operation<'/sso-provider-configs/:uid/test', undefined, undefined, ResultEnvelope, undefined>,
}

export const ssoClientConfigs = {
  /** List SSO client configs. Needs `ROLE_MANAGE_SSO_CLIENT_CONFIG`. */
  list: { method: 'get', path: '/sso-client-configs' } as Operation<'/sso-client-configs', ListQuery, undefined, SsoClientConfig[], undefined>,
  /** Create a SSO client config. Needs `ROLE_MANAGE_SSO_CLIENT_CONFIG`. */
  create: { method: 'post', path: '/sso-client-configs' } as Operation<'/sso-client-configs', undefined, SsoClientConfigBody, SsoClientConfig, undefined>,
  /** Read a SSO client config. Needs `ROLE_MANAGE_SSO_CLIENT_CONFIG`. */
  read: { method: 'get', path: '/sso-client-configs/:uid' } as Operation<'/sso-client-configs/:uid', undefined, undefined, SsoClientConfig, undefined>,
  /** Replace a SSO client config. An absent or null clientSecret keeps the stored secret. An empty text deletes the secret, which makes the application a public client. Needs `ROLE_MANAGE_SSO_CLIENT_CONFIG`. */
  update: { method: 'put', path: '/sso-client-configs/:uid' } as Operation<'/sso-client-configs/:uid', undefined, SsoClientConfigBody, SsoClientConfig, undefined>,
  /** Replace the SSO client config of a client. An absent or null clientSecret keeps the stored secret. An empty text deletes the secret, which makes the application a public client. `clientId` is the client that the application belongs to. Needs `ROLE_MANAGE_SSO_CLIENT_CONFIG`. */
  updateForClient: { method: 'put', path: '/clients/:clientId/sso-client-configs/:uid' } as Operation<'/clients/:clientId/sso-client-configs/:uid', undefined, SsoClientConfigBody, SsoClientConfig, undefined>,
  /** Delete a SSO client config. Needs `ROLE_MANAGE_SSO_CLIENT_CONFIG`. */
  delete: { method: 'delete', path: '/sso-client-configs/:uid' } as Operation<'/sso-client-configs/:uid', undefined, undefined, undefined, undefined>,
}

export const auth = {
  /** Sign in with a password. Returns tokens, or the request for a second factor if the user has one. */
  login: { method: 'post', path: '/auth/login' } as Operation<'/auth/login', undefined, LoginBody, LoginAnswer, undefined>,
  /** Complete a sign-in with a code of the second factor. */
  loginWithCode: { method: 'post', path: '/auth/login/code' } as Operation<'/auth/login/code', undefined, LoginCodeBody, Tokens, undefined>,
  /** Exchange a refresh token for new tokens. */
  refresh: { method: 'post', path: '/auth/refresh' } as Operation<'/auth/refresh', undefined, RefreshBody, Tokens, undefined>,
  /** Complete a sign-in at the SSO provider. The provider redirects the browser to this address. The response contains the tokens or the problem, as JSON or, if the Accept header prefers HTML, as a page. If the sign-in started on a page of the OpenID Provider, the response redirects back to that page (302). */
  finishSso: { method: 'get', path: '/auth/sso/callback', effect: 'write' } as Operation<'/auth/sso/callback', SsoCallbackQuery, undefined, Tokens, undefined>,
  /** Sign in at the SSO provider of a client. For browsers: redirects to the provider and sets a cookie that the callback requires. */
  startSso: { method: 'get', path: '/auth/sso/:clientCode' } as Operation<'/auth/sso/:clientCode', SsoStartQuery, undefined, undefined, undefined>,
  /** End the session of this token. */
  logout: { method: 'post', path: '/auth/logout' } as Operation<'/auth/logout', undefined, undefined, undefined, undefined>,
  /** Accept an invitation and set a password. The user becomes ACTIVE and can sign in. Users with single sign-on omit the password. */
  acceptInvitation: { method: 'post', path: '/auth/accept-invitation' } as Operation<'/auth/accept-invitation', undefined, AcceptInvitationBody, undefined, undefined>,
  /** Request an email with a password reset link. The response is the same whether the user exists or not. */
  forgotPassword: { method: 'post', path: '/auth/forgot-password' } as Operation<'/auth/forgot-password', undefined, ForgotPasswordBody, undefined, undefined>,
  /** Set a new password with an emailed link. Ends every session of the user. */
  resetPassword: { method: 'post', path: '/auth/reset-password' } as Operation<'/auth/reset-password', undefined, ResetPasswordBody, undefined, undefined>,
}

export const mails = {
  /** List emails to users. Needs `ROLE_MANAGE_USER`. */
  list: { method: 'get', path: '/mails' } as Operation<'/mails', ListQuery, undefined, Mail[], undefined>,
  /** Read an email. If no mail server is configured, the response contains the text of the email for callers who hold every role of the recipient. Needs `ROLE_MANAGE_USER`. */
  read: { method: 'get', path: '/mails/:uid' } as Operation<'/mails/:uid', undefined, undefined, ReadMail, undefined>,
}

export interface AcceptInvitationBody {
  token: string
  password?: string
}

export interface AllowedApplication {
  id: string
  ssoClientId: string
  clientName: string
  scopes: ("openid" | "profile" | "email" | "groups" | "organization" | "offline_access" | "ROLE_MANAGE_CLIENT" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  allowed: string
  lastUpdated: string
  lastUsed?: string
}

export interface ApiToken {
  id: string
  name: string
  roles: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  created: string
  expires: string
  lastUsed?: string
  usable: boolean
  effectiveRoles: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
}

export interface ApiTokenBody {
  name: string
  roles: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  expires: string
  password?: string
  code?: string
}

export interface AuthorizationGrantType {
  value: "authorization_code" | "refresh_token" | "client_credentials"
}

export interface ChangeEmailBody {
  email: string
  password?: string
  code?: string
}

export interface ChangePasswordBody {
  currentPassword: string
  newPassword: string
}

export interface Client {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  name: string
  translations?: NameTranslation[]
  code: string
  billingCode: string
  primaryContact: ContactInfo
  technicalContact: ContactInfo
  billingContact: ContactInfo
  disabled: boolean
  domain: "REGULAR" | "PUBLIC_DATASET_CATALOG" | "DATA_MART_PROGRAM"
  managerEnabled: boolean
  routesEnabled: boolean
  pipelinesEnabled: boolean
  /** Sluice stores this value for other services and does not use it. */
  enterpriseEnabled: boolean
  /** Email addresses, separated by commas. Sluice stores them for other services and does not use them. */
  routeNotificationEmailAddresses?: string
  /** The time zone of schedules, as an IANA name such as Europe/Oslo. Default: UTC. */
  timeZone?: string
}

export interface ClientBody {
  name: string
  translations?: NameTranslation[]
  code: string
  billingCode: string
  primaryContact: ContactInfo
  technicalContact: ContactInfo
  billingContact: ContactInfo
  disabled: boolean
  domain: "REGULAR" | "PUBLIC_DATASET_CATALOG" | "DATA_MART_PROGRAM"
  managerEnabled: boolean
  routesEnabled: boolean
  pipelinesEnabled: boolean
  /** Sluice stores this value for other services and does not use it. */
  enterpriseEnabled: boolean
  /** Email addresses, separated by commas. Sluice stores them for other services and does not use them. */
  routeNotificationEmailAddresses?: string
  /** The time zone of schedules, as an IANA name such as Europe/Oslo. Default: UTC. */
  timeZone?: string
}

export interface CodeBody {
  code: string
}

export interface ContactInfo {
  name?: string
  email?: string
  phoneNumber?: string
}

export interface ForgotPasswordBody {
  /** The username or the email address. */
  username: string
}

export interface Header {
  name: string
  column: string
  valueType: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
  hidden: boolean
  meta: boolean
}

export interface InvitedUser {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  name: string
  translations?: NameTranslation[]
  username: string
  email: string
  ssoAuth: boolean
  ssoId?: string
  auths: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  fileAccessInstances?: string[]
  startPage: "DEFAULT" | "MANAGER" | "INTEGRATION" | "DATA_PIPELINE"
  analyticsPlatformEnabled?: boolean
  existingAuths?: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  client: Client
  userGroups: UserGroup[]
  twoFactorAuth: boolean
  status: "INVITATION" | "ACTIVE" | "INACTIVE"
  hasManagerAccess: boolean
  hasRouteAccess: boolean
  hasDataPipelineAccess: boolean
  hasUserAccess: boolean
  hasClientAccess: boolean
  invitationLink?: string
}

export interface ListQuery {
  query?: string
  filter?: string[]
  order?: string[]
  rootJunction?: "AND" | "OR"
  page?: number
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. Filters and order must stay the same. */
  after?: string
  paging?: boolean
  total?: boolean
  locale?: string
}

export type LoginAnswer = Tokens | SecondFactorDemand

export interface LoginBody {
  username: string
  password: string
}

export interface LoginCodeBody {
  ticket: string
  code: string
}

export interface Mail {
  id: string
  created: string
  client: string
  user: {
    id: string
    username: string
  }
  kind: "INVITATION" | "PASSWORD_RESET" | "PASSWORD_CHANGED" | "EMAIL_CHANGED" | "SECOND_FACTOR_CHANGED"
  recipient: string
  subject: string
  state: "QUEUED" | "SENT" | "FAILED" | "KEPT"
  reason?: string
  attempts: number
  finished?: string
}

export interface NameTranslation {
  locale: string
  property: "name" | "NAME"
  value: string
}

export interface NewApiToken {
  id: string
  name: string
  roles: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  created: string
  expires: string
  lastUsed?: string
  usable: boolean
  effectiveRoles: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  token: string
}

export interface OpenSession {
  id: string
  created: string
  lastUsed: string
  expires: string
  address: string
  userAgent: string
  current: boolean
  applications: string[]
}

export interface OwnPasswordBody {
  password: string
}

export interface PagingRequest {
  page?: number
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. Filters and order must stay the same. */
  after?: string
  /** false returns the first 1,000 rows as one page. */
  paging?: boolean
  /** false omits the totals, which saves time. */
  total?: boolean
}

export interface ProofBody {
  password?: string
  code?: string
}

export interface ReadMail {
  id: string
  created: string
  client: string
  user: {
    id: string
    username: string
  }
  kind: "INVITATION" | "PASSWORD_RESET" | "PASSWORD_CHANGED" | "EMAIL_CHANGED" | "SECOND_FACTOR_CHANGED"
  recipient: string
  subject: string
  state: "QUEUED" | "SENT" | "FAILED" | "KEPT"
  reason?: string
  attempts: number
  finished?: string
  text?: string
}

export interface RecoveryCodes {
  recoveryCodes: string[]
}

export interface Reference {
  id: string
}

export interface RefreshBody {
  refreshToken: string
}

export interface ResetPasswordBody {
  token: string
  password: string
}

export interface ResultEnvelope {
  status: "OK" | "WARNING" | "ERROR"
  httpStatus: string
  httpStatusCode: number
  statusCode: number
  errorCode: string
  message: string
  messageKey?: string
  devMessage?: string
  data?: Record<string, unknown>
}

export interface SearchRequest {
  query?: string
  filter?: string[]
  order?: string[]
  rootJunction?: "AND" | "OR"
  paging: PagingRequest
}

export interface SecondFactor {
  enrolled: boolean
  since?: string
  recoveryCodesLeft: number
}

export interface SecondFactorDemand {
  secondFactor: {
    ticket: string
    methods: ("TOTP" | "RECOVERY_CODE")[]
  }
}

export interface SecondFactorEnrolment {
  uri: string
  secret: string
  qrCode: string
}

export interface Session {
  activeUser: User
  user: SessionUser
  activeClient: Client
  client: SessionClient
  config: {
    serviceIntro: boolean
  }
  forwardTo?: "SERVICE_MANAGER" | "SERVICE_INTEGRATION" | "SERVICE_DATA_PIPELINE"
}

export interface SessionClient {
  id: string
  code: string
  name: string
  disabled: boolean
  domain: "REGULAR" | "PUBLIC_DATASET_CATALOG" | "DATA_MART_PROGRAM"
  managerEnabled: boolean
  integrationRoutesEnabled: boolean
  analyticsPlatformEnabled: boolean
  enterpriseEnabled: boolean
}

export interface SessionUser {
  id: string
  client: string
  username: string
  email: string
  name: string
  createdBy?: string
  lastUpdatedBy?: string
  twoFactorAuth: boolean
  preUpdateAuths?: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  auths: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  userGroups: UserGroupSummary[]
  pipelinesEnabled: boolean
  hasIntegrationRouteAccess: boolean
  hasAnalyticsPlatformAccess: boolean
  hasManagerAccess: boolean
  hasUserAccess: boolean
  hasClientAccess: boolean
}

export interface SsoCallbackQuery {
  provider: string
  state: string
  code?: string
  iss?: string
  error?: string
  error_description?: string
}

export interface SsoClientConfig {
  id: string
  created: string
  lastUpdated: string
  client: Client
  /** The client_id of OAuth, in printable ASCII. It must be unique across all clients and have at most 255 characters, else the request is rejected with 422. */
  ssoClientId: string
  /** At most 255 characters; longer texts are rejected with 422. */
  clientName: string
  redirectUris: string[]
  scopes: ("openid" | "profile" | "email" | "groups" | "organization" | "offline_access" | "ROLE_MANAGE_CLIENT" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  grantTypes: AuthorizationGrantType[]
  confidential: boolean
}

export interface SsoClientConfigBody {
  /** The client_id of OAuth, in printable ASCII. It must be unique across all clients and have at most 255 characters, else the request is rejected with 422. */
  ssoClientId: string
  /** At most 255 characters; longer texts are rejected with 422. */
  clientName: string
  redirectUris: string[]
  scopes: ("openid" | "profile" | "email" | "groups" | "organization" | "offline_access" | "ROLE_MANAGE_CLIENT" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  grantTypes: AuthorizationGrantType[]
  client?: Reference
  clientSecret?: string | null
}

export interface SsoProviderConfig {
  id: string
  created: string
  lastUpdated: string
  client: Client
  provider: "IDP_VENDOR" | "GENERIC"
  /** For IDP_VENDOR, the domain that the vendor gave you; the issuer is https://<clientDomain>/. For GENERIC, the issuer of the provider, as a URL or only its host. */
  clientDomain: string
  /** The claim that contains the ssoId of a user. Choose a claim that users cannot change, such as sub, or oid for Microsoft Entra. */
  mappingClaim: string
}

export interface SsoProviderConfigBody {
  provider: "IDP_VENDOR" | "GENERIC"
  /** For IDP_VENDOR, the domain that the vendor gave you; the issuer is https://<clientDomain>/. For GENERIC, the issuer of the provider, as a URL or only its host. */
  clientDomain: string
  /** The claim that contains the ssoId of a user. Choose a claim that users cannot change, such as sub, or oid for Microsoft Entra. */
  mappingClaim: string
  client?: Reference
  clientId?: string | null
  clientSecret?: string | null
}

export interface SsoProviderConfigWithCredentials {
  id: string
  created: string
  lastUpdated: string
  client: Client
  provider: "IDP_VENDOR" | "GENERIC"
  /** For IDP_VENDOR, the domain that the vendor gave you; the issuer is https://<clientDomain>/. For GENERIC, the issuer of the provider, as a URL or only its host. */
  clientDomain: string
  /** The claim that contains the ssoId of a user. Choose a claim that users cannot change, such as sub, or oid for Microsoft Entra. */
  mappingClaim: string
  clientId?: string
  clientSecret?: string
}

export interface SsoStartQuery {
  /** The sign-in page of the OpenID Provider where the sign-in started. The browser returns to it afterwards. */
  interaction?: string
  /** The token from the link on the page that Sluice showed before the sign-in. It proves that the page was sent to this browser. */
  mark?: string
}

export interface SwitchClientBody {
  clientId: string
}

export interface TabularResult {
  table: string
  title: string
  subtitle: string
  metaData: Record<string, {}>
  rows: unknown[][]
  visibleRows: unknown[][]
  metaColumnIndexes: number[]
  headers: Header[]
  visibleHeaders: Header[]
  height: number
  width: number
  visibleWidth: number
}

export interface Tokens {
  accessToken: string
  tokenType: "Bearer"
  expiresIn: number
  refreshToken: string
  refreshTokenExpires: string
}

export interface Translation {
  locale: string
  property: "name" | "NAME" | "description" | "DESCRIPTION"
  value: string
}

export interface User {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  name: string
  translations?: NameTranslation[]
  username: string
  email: string
  ssoAuth: boolean
  ssoId?: string
  auths: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  fileAccessInstances?: string[]
  startPage: "DEFAULT" | "MANAGER" | "INTEGRATION" | "DATA_PIPELINE"
  analyticsPlatformEnabled?: boolean
  existingAuths?: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  client: Client
  userGroups: UserGroup[]
  twoFactorAuth: boolean
  status: "INVITATION" | "ACTIVE" | "INACTIVE"
  hasManagerAccess: boolean
  hasRouteAccess: boolean
  hasDataPipelineAccess: boolean
  hasUserAccess: boolean
  hasClientAccess: boolean
}

export interface UserBody {
  /** If it differs from the time of the stored user, PUT ignores `status` and `twoFactorAuth`. */
  lastUpdated?: string
  name: string
  translations?: NameTranslation[]
  username: string
  email: string
  ssoAuth: boolean
  ssoId?: string
  auths?: ("ROLE_MANAGE_CLIENT" | "ROLE_SUPER_ADMIN" | "ROLE_MANAGE_USER" | "ROLE_MANAGE_USER_GROUP" | "ROLE_MANAGE_SSO_PROVIDER_CONFIG" | "ROLE_MANAGE_SSO_CLIENT_CONFIG" | "ROLE_SEE_INSTANCE" | "ROLE_MANAGE_INSTANCE" | "ROLE_GET_FILE" | "ROLE_GET_FILE_INDIVIDUAL" | "ROLE_SEE_AUDIT_LOG" | "ROLE_MANAGE_HOSTING_PLAN" | "ROLE_SEE_ROUTE" | "ROLE_MANAGE_ROUTE" | "ROLE_SEE_DATA_PIPELINE" | "ROLE_MANAGE_DATA_PIPELINE" | "ROLE_SEE_VIEW" | "ROLE_MANAGE_VIEW" | "ROLE_SEE_SCHEMA" | "ROLE_MANAGE_SCHEMA" | "ROLE_SEE_DESTINATION" | "ROLE_MANAGE_DESTINATION" | "ROLE_SEE_WORKFLOW" | "ROLE_MANAGE_WORKFLOW" | "ROLE_SEE_VARIABLE" | "ROLE_MANAGE_VARIABLE" | "ROLE_MANAGE_SETTING" | "ROLE_SEE_DATA_QUALITY_CHECK" | "ROLE_MANAGE_DATA_QUALITY_CHECK" | "ROLE_SEE_DATA_QUALITY_CHECK_GROUP" | "ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP" | "ROLE_SEE_FIREWALL_RULE" | "ROLE_MANAGE_FIREWALL_RULE" | "ROLE_VIEW_DATA_ANALYTICS_PLATFORM" | "ROLE_VIEW_DATA_ALL_DATA_PIPELINE" | "ROLE_SEE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_DATA_PIPELINE_CONFIG" | "ROLE_MANAGE_PUBLIC_DATASET_CATALOG")[]
  fileAccessInstances?: string[]
  startPage: "DEFAULT" | "MANAGER" | "INTEGRATION" | "DATA_PIPELINE"
  analyticsPlatformEnabled?: boolean
  /** Rejected with 422 unless the operator has set ADMIN_SETS_PASSWORDS, because users set their own passwords. A password makes the user ACTIVE. You cannot set your own password here. */
  password?: string
  /** PUT ignores the stored value and rejects any other value with 422. Use DELETE /users/{uid}/second-factor to change it. */
  twoFactorAuth?: boolean
  /** PUT ignores the stored value and rejects any other value with 422. Use PUT /users/{uid}/status to change it. */
  status?: "INVITATION" | "ACTIVE" | "INACTIVE"
  client?: Reference
  userGroups?: Reference[]
}

export interface UserGroup {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  name: string
  translations?: Translation[]
  code: string
  description?: string
  displayDescription?: string
  client: Client
}

export interface UserGroupBody {
  name: string
  translations?: Translation[]
  code: string
  description?: string
  client?: Reference
}

export interface UserGroupSummary {
  id: string
  client: string
  name: string
  code: string
}

export interface UserListQuery {
  query?: string
  filter?: string[]
  order?: string[]
  rootJunction?: "AND" | "OR"
  page?: number
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. Filters and order must stay the same. */
  after?: string
  paging?: boolean
  total?: boolean
  locale?: string
  /** Returns only users with this value. */
  analyticsPlatform?: boolean
}

export interface UserSearchRequest {
  query?: string
  filter?: string[]
  order?: string[]
  rootJunction?: "AND" | "OR"
  paging: PagingRequest
  /** Returns only users with this value. */
  analyticsPlatform?: boolean
}

export interface UserStatusBody {
  status: "ACTIVE" | "INACTIVE"
}
