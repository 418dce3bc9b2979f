import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService } from '../app-under-test.ts'

it('an internal error shows a page with the request id, and its reason only in the log', async () => {
  const service = await startService()
  try {
    await sql`alter table links rename to links_elsewhere`.execute(service.db)
    const { status, text, headers } = await service.http.get(`/account/password?token=sll_${'A'.repeat(43)}`)
    expect(status).toBe(500)
    expect(text).toContain('Something went wrong')
    expect(text).toContain(headers['x-request-id'])
    expect(text).not.toMatch(/relation|select|links_|node_modules/)
    expect(service.lines.join('')).toContain('relation \\"links\\" does not exist')
  } finally {
    await service.stop()
  }
})
