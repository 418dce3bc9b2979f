import type { ValidRequests, Stage } from './valid-requests.ts'

export const sessionRequests = ({ service }: Stage): ValidRequests => ({
  'session.read': async () => ({}),
  'session.switchClient': async () => ({ body: { clientId: await service.client() } }),
})
