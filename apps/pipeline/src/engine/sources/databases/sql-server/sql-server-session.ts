import type { Engine } from '../session.ts'
export const sqlServer: Engine = {
  name: 'SQL Server',
  open: () => Promise.reject(new Error()),
  explain: () => undefined,
}
