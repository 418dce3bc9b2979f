import { pick, type Person, type Random } from './random-people.ts'

export interface Filter {
  text: string
  holds(person: Person): boolean
}

const has = (text: string, piece: string) => text.toLowerCase().includes(piece.toLowerCase())
const searched = ['name', 'displayName', 'username', 'email'] as const
const valueOf = (person: Person, name: (typeof searched)[number]) => person[name === 'displayName' ? 'name' : name]

/** A random part of a text, sometimes in upper case. */
function pieceOf(random: Random, text: string): string {
  const letters = [...text]
  const from = Math.floor(random() * letters.length)
  const piece = letters.slice(from, from + 1 + Math.floor(random() * 5)).join('')
  return random() < 0.4 ? piece.toUpperCase() : piece
}

const kinds: ((random: Random, people: readonly Person[]) => Filter)[] = [
  (random, people) => {
    const name = pick(random, searched)
    const piece = pieceOf(random, valueOf(pick(random, people), name))
    const [operator, test] = pick<[string, (text: string) => boolean]>(random, [
      ['ilike', (text) => has(text, piece)],
      ['!ilike', (text) => !has(text, piece)],
      ['like', (text) => text.includes(piece)],
      ['!like', (text) => !text.includes(piece)],
      ['startsWith', (text) => text.toLowerCase().startsWith(piece.toLowerCase())],
      ['!$ilike', (text) => !text.toLowerCase().startsWith(piece.toLowerCase())],
      ['$like', (text) => text.startsWith(piece)],
      ['endsWith', (text) => text.toLowerCase().endsWith(piece.toLowerCase())],
      ['like$', (text) => text.endsWith(piece)],
    ])
    return { text: `${name}:${operator}:${piece}`, holds: (person) => test(valueOf(person, name)) }
  },
  (random, people) => {
    const name = pick(random, searched)
    const value = valueOf(pick(random, people), name)
    const [operator, test] = pick<[string, (text: string) => boolean]>(random, [
      ['eq', (text) => text === value],
      ['ne', (text) => text !== value],
      ['ieq', (text) => text.toLowerCase() === value.toLowerCase()],
    ])
    return { text: `${name}:${operator}:${value}`, holds: (person) => test(valueOf(person, name)) }
  },
  (random) => {
    const status = pick(random, ['ACTIVE', 'INACTIVE', 'INVITATION'])
    const negated = random() < 0.4
    return {
      text: `status:${negated ? '!eq' : 'eq'}:${status}`,
      holds: (person) => (person.status === status) !== negated,
    }
  },
  (random) => {
    const wanted = ['DEFAULT', 'MANAGER', 'DATA_PIPELINE'].filter(() => random() < 0.5)
    const list = wanted.length > 0 ? wanted : ['INTEGRATION']
    return { text: `startPage:in:[${list.join(',')}]`, holds: ({ startPage }) => list.includes(startPage) }
  },
  (random) => {
    const name = pick(random, ['ssoAuth', 'analyticsPlatformEnabled'] as const)
    const wanted = random() < 0.5
    return { text: `${name}:eq:${wanted}`, holds: (person) => person[name] === wanted }
  },
  (random) => {
    const roles = ['ROLE_SEE_VIEW', 'ROLE_GET_FILE', 'ROLE_MANAGE_USER'].filter(() => random() < 0.6)
    const list = roles.length > 0 ? roles : ['ROLE_SEE_ROUTE']
    const shares = ({ auths }: Person) => auths.some((role) => list.includes(role))
    return random() < 0.5
      ? { text: `auths:in:[${list.join(',')}]`, holds: shares }
      : { text: `auths:!in:[${list.join(',')}]`, holds: (person) => !shares(person) }
  },
  (random) => {
    const size = Math.floor(random() * 4)
    return { text: `auths:eq:${size}`, holds: ({ auths }) => auths.length === size }
  },
  (random) =>
    random() < 0.5
      ? { text: 'ssoId:null', holds: ({ ssoId }) => ssoId === null }
      : { text: 'ssoId:!$like:sso-a', holds: ({ ssoId }) => !ssoId?.startsWith('sso-a') },
  (random, people) => {
    const { created } = pick(random, people)
    return { text: `created:le:${created.toISOString()}`, holds: (person) => person.created <= created }
  },
  (random) => {
    const code = pick(random, ['RED', 'GREEN', 'NONE'])
    return { text: `userGroups.code:eq:${code}`, holds: ({ userGroups }) => userGroups.includes(code) }
  },
  (random, people) => {
    const ids = [pick(random, people).id, pick(random, people).id]
    return { text: `id:in:[${ids.join(',')}]`, holds: ({ id }) => ids.includes(id) }
  },
]

export const someFilter = (random: Random, people: readonly Person[]): Filter => pick(random, kinds)(random, people)

/** Does the search parameter `query` find this user? */
export const foundBy = (query: string, { id, username, email, name }: Person): boolean =>
  [id, username, email, name].some((text) => has(text, query))

export const somePiece = (random: Random, people: readonly Person[]): string =>
  pieceOf(random, pick(random, people).name).trim()
