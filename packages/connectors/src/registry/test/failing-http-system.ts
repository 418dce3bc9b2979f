import { CursorUnusable, type HttpSystem, type RecordPage } from '../../http-connector/http-system.ts'

export interface TroubledSettings {
  url: string
  trouble: 'EXIT' | 'BUG' | 'MEMORY' | 'HELD_MEMORY' | 'LARGE_PAGE' | 'OLD_CURSOR' | 'NONE'
  records: number
}

/** A system whose read ends in different ways. Its pages are made in the thread. It is the only value that this module exports. */
export const troubledSystem: HttpSystem<TroubledSettings> = {
  name: 'the troubled system',
  connect: ({ url }) => ({
    url,
    signIn: async (http) => {
      await http.getJson('sign-in')
      return { authorization: 'Bearer session' }
    },
    signOut: (http) => http.getJson('sign-out'),
  }),
  testConnection: async () => {},
  canReadIncrement: () => true,
  openStreams: async ({ http, settings, log }) => ({
    name: 'records',
    key: ['id'],
    async *readPages(cursor): AsyncGenerator<RecordPage> {
      await http.getJson('page')
      if (settings.trouble === 'OLD_CURSOR' && cursor !== undefined) throw new CursorUnusable('The cursor is too old.')
      log('INFO', 'LOW', 'The page begins')
      if (settings.trouble === 'EXIT') process.exit(3)
      if (settings.trouble === 'BUG') throw new TypeError('the system has a bug')
      if (settings.trouble === 'MEMORY') fillMemory()
      if (settings.trouble === 'HELD_MEMORY') heldMemory.push(new Uint8Array(100_000_000))
      yield { records: createRecords(settings) }
    },
  }),
}

/** Memory that the thread holds until it ends. */
const heldMemory: Uint8Array[] = []

function fillMemory(): void {
  const lists: number[][] = []
  for (;;) lists.push(Array.from({ length: 1_000_000 }, () => 0.5))
}

/** Returns records with a group of ten rows. LARGE_PAGE takes minutes to write. */
function createRecords({ trouble, records }: TroubledSettings): object[] {
  const create = (id: number) => ({ id, name: `Name ${id}`, visits: Array.from({ length: 10 }, (_, day) => ({ day })) })
  if (trouble !== 'LARGE_PAGE') return Array.from({ length: records }, (_, id) => create(id))
  const page: object[] = []
  page.length = 100_000_000
  return new Proxy(page, {
    get: (target, name, receiver) =>
      typeof name === 'string' && /^\d+$/.test(name) ? create(Number(name)) : Reflect.get(target, name, receiver),
  })
}
