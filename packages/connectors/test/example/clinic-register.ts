import { parseObject, parseList, toText } from '../../src/http-connector/parse-response.ts'
import { type SystemContext, requireSecret, overlapSeconds, type HttpSystem } from '../../src/http-connector/http-system.ts'
import { boundCursor } from '../../src/http-connector/paging.ts'

interface Settings {
  apiSource: { url: string }
  clinic: string
}

const name = 'Clinic Register'
const pageSize = 500

/** Clinic Register: the visits of a clinic, and their symptoms as a table below. */
export const clinicRegister: HttpSystem<Settings> = {
  name,
  increments: () => true,

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    ignoredSegments: ['api'],
    headers: { authorization: `Bearer ${requireSecret(secrets, 'authToken', 'a token')}` },
  }),

  async test({ http }) {
    await http.getJson('api/me')
  },

  lookup: (kind, asking) => (kind === 'clinics' ? clinics(asking) : undefined),

  streams: async ({ http, settings: { clinic } }) => ({
    name: 'visits',
    key: ['id'],
    async *pages(cursor) {
      const updatedAfter = toText(cursor)
      let latest = ''
      for (let offset = 0; ; offset += pageSize) {
        const answer = await http.getJson(`api/clinics/${encodeURIComponent(clinic)}/visits`, {
          subject: `The clinic "${clinic}"`,
          query: { offset, limit: pageSize, updatedAfter },
        })
        const records = parseList(answer, name, 'visits')
        for (const record of records) {
          const { updatedAt } = (record ?? {}) as { updatedAt?: unknown }
          if (typeof updatedAt === 'string' && updatedAt > latest) latest = updatedAt
        }
        const over = records.length < pageSize
        // Only all pages together are complete: they need not be in the order of changes.
        const asOf = { began: http.startedAt(), since: updatedAfter, overlap: overlapSeconds }
        const next = over ? boundCursor(latest, asOf) : undefined
        yield { records, ...(next !== undefined && { cursor: next }) }
        if (over) return
      }
    },
  }),
}

async function clinics({ http }: SystemContext<Settings>) {
  return parseList(await http.getJson('api/clinics'), name, 'clinics').map((one) => {
    const { code, name: called } = parseObject(one, name)
    const id = toText(code) ?? ''
    return { id, code: id, name: toText(called) ?? id }
  })
}
