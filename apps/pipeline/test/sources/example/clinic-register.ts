import { fieldsOf, listIn, textOf } from '../../../src/engine/sources/systems/http/answers.ts'
import { type Asking, demandSecret, overlapSeconds, type System } from '../../../src/engine/sources/systems/system.ts'
import { nextCursor } from '../../../src/engine/sources/systems/tables/moments.ts'

interface Settings {
  apiSource: { url: string }
  clinic: string
}

const name = 'Clinic Register'
const pageSize = 500

/** Clinic Register: the visits of a clinic, and their symptoms as a table below. */
export const clinicRegister: System<Settings> = {
  name,
  increments: () => true,

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    without: ['api'],
    headers: { authorization: `Bearer ${demandSecret(secrets, 'authToken', 'a token')}` },
  }),

  async test({ http }) {
    await http.json('api/me')
  },

  lookup: (kind, asking) => (kind === 'clinics' ? clinics(asking) : undefined),

  streams: async ({ http, settings: { clinic } }) => ({
    name: 'visits',
    key: ['id'],
    async *pages(cursor) {
      const updatedAfter = textOf(cursor)
      let latest = ''
      for (let offset = 0; ; offset += pageSize) {
        const answer = await http.json(`api/clinics/${encodeURIComponent(clinic)}/visits`, {
          what: `The clinic "${clinic}"`,
          query: { offset, limit: pageSize, updatedAfter },
        })
        const records = listIn(answer, name, 'visits')
        for (const record of records) {
          const { updatedAt } = (record ?? {}) as { updatedAt?: unknown }
          if (typeof updatedAt === 'string' && updatedAt > latest) latest = updatedAt
        }
        const over = records.length < pageSize
        // Only all pages together are complete: they need not be in the order of changes.
        const asOf = { began: http.began(), since: updatedAfter, overlap: overlapSeconds }
        const next = over ? nextCursor(latest, asOf) : undefined
        yield { records, ...(next !== undefined && { cursor: next }) }
        if (over) return
      }
    },
  }),
}

async function clinics({ http }: Asking<Settings>) {
  return listIn(await http.json('api/clinics'), name, 'clinics').map((one) => {
    const { code, name: called } = fieldsOf(one, name)
    const id = textOf(code) ?? ''
    return { id, code: id, name: textOf(called) ?? id }
  })
}
