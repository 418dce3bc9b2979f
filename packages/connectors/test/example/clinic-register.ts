import { type HttpSystem, requireSecret, type SystemContext } from '../../src/http-connector/http-system.ts'
import { createNextCursor } from '../../src/http-connector/paging.ts'
import { createOption, parseList, parseObject, toText } from '../../src/http-connector/parse-response.ts'

interface Settings {
  apiSource: { url: string }
  clinic: string
}

const name = 'Clinic Register'
const pageSize = 500

/** Clinic Register: the visits of a clinic, with their symptoms as a child table. */
export const clinicRegister: HttpSystem<Settings> = {
  name,
  canReadIncrement: () => true,

  connect: ({ apiSource: { url } }, secrets) => ({
    url,
    ignoredSegments: ['api'],
    headers: { authorization: `Bearer ${requireSecret(secrets, 'authToken', 'a token')}` },
  }),

  async testConnection({ http }) {
    await http.getJson('api/me')
  },

  listOptions: (kind, context) => (kind === 'clinics' ? listClinics(context) : undefined),

  openStreams: async ({ http, settings: { clinic } }) => ({
    name: 'visits',
    key: ['id'],
    async *readPages(cursor) {
      const updatedAfter = toText(cursor)
      let latest = ''
      for (let offset = 0; ; offset += pageSize) {
        const response = await http.getJson(`api/clinics/${encodeURIComponent(clinic)}/visits`, {
          subject: `The clinic "${clinic}"`,
          query: { offset, limit: pageSize, updatedAfter },
        })
        const records = parseList(response, name, 'visits')
        for (const record of records) {
          const { updatedAt } = (record ?? {}) as { updatedAt?: unknown }
          if (typeof updatedAt === 'string' && updatedAt > latest) latest = updatedAt
        }
        const isLast = records.length < pageSize
        // Only all pages together are complete, because they may not be in the order of changes.
        yield { records, cursor: isLast ? createNextCursor(latest, http.startedAt(), updatedAfter) : undefined }
        if (isLast) return
      }
    },
  }),
}

async function listClinics({ http }: SystemContext<Settings>) {
  return parseList(await http.getJson('api/clinics'), name, 'clinics').flatMap((clinic) => {
    const { code, name: title } = parseObject(clinic, name)
    return createOption(code, { name: title })
  })
}
