import type { GoodRequests } from './good-requests.ts'

export const sessionRequests = (): GoodRequests => ({
  'session.read': async () => ({}),
})
