import type { GoodRequests, Stage } from './valid-requests.ts'

export const sessionRequests = ({ service }: Stage): GoodRequests => ({
  'session.read': async () => ({}),
  'session.switchClient': async () => ({ body: { clientId: await service.client() } }),
})
