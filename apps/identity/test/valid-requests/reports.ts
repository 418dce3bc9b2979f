import type { ValidRequests } from './valid-requests.ts'

export const reportRequests = (): ValidRequests => ({
  'reports.userAccess': async () => ({ query: '?pageSize=5&order=lastSignIn:desc' }),
  'reports.audit': async () => ({ query: '?pageSize=5&filter=operation:eq:auth.login' }),
})
