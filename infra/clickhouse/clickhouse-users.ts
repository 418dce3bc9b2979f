import { createHash } from 'node:crypto'

interface User {
  /** SHA-256, in hexadecimal digits. */
  password: string
  /** `name = value`, `min`, `max` and `const` of each, as SQL has them. */
  settings: string[]
  /** The text between GRANT and TO. */
  grants: string[]
  /** True after HOST NONE: the user cannot connect. */
  noHost?: boolean
}

/** Users by their name. */
export type Users = Record<string, User>

const name = '`([a-z0-9_]+)`'
const password = "identified with (sha256_password by '[^'\\\\]+'|sha256_hash by '[0-9a-f]{64}')"
const created = new RegExp(`^create user if not exists ${name} ${password}$`)
const altered = new RegExp(`^alter user ${name}(?: ${password})?(?: host (any|none))? settings (.+)$`)
const granted = new RegExp(`^grant (.+) to ${name}$`)
const revoked = new RegExp(`^revoke (.+) from ${name}$`)
const dropped = /^drop user if exists (.+)$/

/** Whether a statement changes users or their rights. */
export const isAboutUsers = (statement: string): boolean =>
  /^\s*((create|alter|drop)\s+user|grant|revoke)\b/i.test(statement)

/** Returns the users after a statement; undefined for an unknown statement. */
export function afterStatement(users: Users, statement: string): Users | undefined {
  const [, made, first] = created.exec(statement) ?? []
  if (made)
    return users[made] ? users : { ...users, [made]: { password: identifiedHash(first!), settings: [], grants: [] } }
  const [, changed, other, host, settings] = altered.exec(statement) ?? []
  if (changed) {
    const { grants = [], password: kept = '' } = users[changed] ?? {}
    const hash = other === undefined ? kept : identifiedHash(other)
    const noHost = host === 'none' ? { noHost: true } : {}
    return { ...users, [changed]: { password: hash, settings: settings!.split(', '), grants, ...noHost } }
  }
  const [, what, to] = granted.exec(statement) ?? []
  if (to && users[to]) return { ...users, [to]: { ...users[to], grants: [...new Set([...users[to].grants, what!])] } }
  const [, lost, from] = revoked.exec(statement) ?? []
  if (from && users[from]) {
    const grants = users[from].grants.filter((grant) => grant !== lost)
    return { ...users, [from]: { ...users[from], grants } }
  }
  const [, gone] = dropped.exec(statement) ?? []
  if (!gone) return undefined
  const names = new Set(gone.replaceAll('`', '').split(', '))
  return Object.fromEntries(Object.entries(users).filter(([user]) => !names.has(user)))
}

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex')

/** Returns the hash in `sha256_hash by '…'`, or of the password in `sha256_password by '…'`. */
function identifiedHash(identified: string): string {
  const secret = identified.slice(identified.indexOf("'") + 1, -1)
  return identified.startsWith('sha256_hash') ? secret : hashOf(secret)
}

/**
 * Returns users.xml with these users, the administrator, who has all rights, and `default`, which the process itself
 * uses. `default` needs no password on this machine.
 */
export function usersFile(users: Users, admin: { user: string; password: string }): string {
  const own = Object.entries(users).filter(([, { grants, settings }]) => grants.length + settings.length > 0)
  const everywhere = '<networks><ip>::/0</ip></networks><quota>default</quota>'
  return `<clickhouse>
<quotas><default></default></quotas>
<profiles><default></default>${own.map(([user, { settings }]) => profile(user, settings)).join('\n')}</profiles>
<users>
<default><password></password><networks><ip>::1</ip></networks><profile>default</profile><quota>default</quota></default>
<${admin.user}><password_sha256_hex>${hashOf(admin.password)}</password_sha256_hex>${everywhere}<profile>default</profile>
<access_management>1</access_management></${admin.user}>
${own.map(([user, { password: hash, grants, noHost }]) => `<${user}><password_sha256_hex>${hash}</password_sha256_hex>${noHost ? '<networks></networks><quota>default</quota>' : everywhere}<profile>${user}</profile><grants>${grants.length > 0 ? grants.map((grant) => `<query>GRANT ${grant}</query>`).join('') : '<query>REVOKE ALL ON *.*</query>'}</grants></${user}>`).join('\n')}
</users>
</clickhouse>
`
}

/** `max_memory_usage = 5 min 1 max 5`, `readonly = 2 readonly`, `merge_tree_disk const`. */
function profile(user: string, settings: readonly string[]): string {
  const values: string[] = []
  const limits: string[] = []
  for (const setting of settings) {
    const [, what = '', value, least, most, fixed] =
      /^(\w+)(?: = (\d+))?(?: min (\d+))?(?: max (\d+))?( readonly| const)?$/.exec(setting) ?? []
    if (value !== undefined) values.push(`<${what}>${value}</${what}>`)
    const limit = `${least ? `<min>${least}</min>` : ''}${most ? `<max>${most}</max>` : ''}${fixed ? '<const/>' : ''}`
    if (limit) limits.push(`<${what}>${limit}</${what}>`)
  }
  return `<${user}>${values.join('')}<constraints>${limits.join('')}</constraints></${user}>`
}
