import { createHash } from 'node:crypto'

interface User {
  /** SHA-256, in hexadecimal digits. */
  password: string
  /** Settings as in SQL, for example `max_memory_usage = 5 min 1 max 5`. */
  settings: string[]
  /** For each GRANT statement, the text between GRANT and TO. */
  grants: string[]
  /** True after HOST NONE, which prevents connections of the user. */
  noHost?: boolean
}

/** Users by their name. */
export type Users = Record<string, User>

const namePattern = '`([a-z0-9_]+)`'
const passwordPattern = "identified with (sha256_password by '[^'\\\\]+'|sha256_hash by '[0-9a-f]{64}')"
const createUserPattern = new RegExp(`^create user if not exists ${namePattern} ${passwordPattern}$`)
const alterUserPattern = new RegExp(
  `^alter user ${namePattern}(?: ${passwordPattern})?(?: host (any|none))? settings (.+)$`,
)
const grantPattern = new RegExp(`^grant (.+) to ${namePattern}$`)
const revokePattern = new RegExp(`^revoke (.+) from ${namePattern}$`)
const dropUserPattern = /^drop user if exists (.+)$/

/** Returns whether a statement changes users or their rights. */
export const isUserStatement = (statement: string): boolean =>
  /^\s*((create|alter|drop)\s+user|grant|revoke)\b/i.test(statement)

/** Returns the users after a statement; undefined for an unsupported statement. */
export function applyUserStatement(users: Users, statement: string): Users | undefined {
  const [, createdUser, identification] = createUserPattern.exec(statement) ?? []
  if (createdUser)
    return users[createdUser]
      ? users
      : { ...users, [createdUser]: { password: parsePasswordHash(identification!), settings: [], grants: [] } }
  const [, alteredUser, newIdentification, host, settings] = alterUserPattern.exec(statement) ?? []
  if (alteredUser) {
    const { grants = [], password: oldHash = '' } = users[alteredUser] ?? {}
    const hash = newIdentification === undefined ? oldHash : parsePasswordHash(newIdentification)
    const noHost = host === 'none' ? { noHost: true } : {}
    return { ...users, [alteredUser]: { password: hash, settings: settings!.split(', '), grants, ...noHost } }
  }
  const [, grant, to] = grantPattern.exec(statement) ?? []
  if (to && users[to]) return { ...users, [to]: { ...users[to], grants: [...new Set([...users[to].grants, grant!])] } }
  const [, revoked, from] = revokePattern.exec(statement) ?? []
  if (from && users[from]) {
    const grants = users[from].grants.filter((grant) => grant !== revoked)
    return { ...users, [from]: { ...users[from], grants } }
  }
  const [, droppedUsers] = dropUserPattern.exec(statement) ?? []
  if (!droppedUsers) return undefined
  const names = new Set(droppedUsers.replaceAll('`', '').split(', '))
  return Object.fromEntries(Object.entries(users).filter(([user]) => !names.has(user)))
}

const hashPassword = (secret: string) => createHash('sha256').update(secret).digest('hex')

/** Returns the hash in `sha256_hash by '…'`, or of the password in `sha256_password by '…'`. */
function parsePasswordHash(identified: string): string {
  const secret = identified.slice(identified.indexOf("'") + 1, -1)
  return identified.startsWith('sha256_hash') ? secret : hashPassword(secret)
}

/**
 * Returns users.xml with these users, the administrator, who has all rights, and `default`, which the process itself
 * uses. `default` needs no password on this machine.
 */
export function buildUsersXml(users: Users, admin: { user: string; password: string }): string {
  const activeUsers = Object.entries(users).filter(([, { grants, settings }]) => grants.length + settings.length > 0)
  const anyNetwork = '<networks><ip>::/0</ip></networks><quota>default</quota>'
  return `<clickhouse>
<quotas><default></default></quotas>
<profiles><default></default>${activeUsers.map(([user, { settings }]) => buildProfile(user, settings)).join('\n')}</profiles>
<users>
<default><password></password><networks><ip>::1</ip></networks><profile>default</profile><quota>default</quota></default>
<${admin.user}><password_sha256_hex>${hashPassword(admin.password)}</password_sha256_hex>${anyNetwork}<profile>default</profile>
<access_management>1</access_management></${admin.user}>
${activeUsers.map(([user, { password: hash, grants, noHost }]) => `<${user}><password_sha256_hex>${hash}</password_sha256_hex>${noHost ? '<networks></networks><quota>default</quota>' : anyNetwork}<profile>${user}</profile><grants>${grants.length > 0 ? grants.map((grant) => `<query>GRANT ${grant}</query>`).join('') : '<query>REVOKE ALL ON *.*</query>'}</grants></${user}>`).join('\n')}
</users>
</clickhouse>
`
}

/**
 * Returns the settings profile of a user. `settings` are as in SQL: `max_memory_usage = 5 min 1 max 5`,
 * `readonly = 2 readonly`, `merge_tree_disk const`.
 */
function buildProfile(user: string, settings: readonly string[]): string {
  const values: string[] = []
  const limits: string[] = []
  for (const setting of settings) {
    const [, name = '', value, min, max, isConst] =
      /^(\w+)(?: = (\d+))?(?: min (\d+))?(?: max (\d+))?( readonly| const)?$/.exec(setting) ?? []
    if (value !== undefined) values.push(`<${name}>${value}</${name}>`)
    const limit = `${min ? `<min>${min}</min>` : ''}${max ? `<max>${max}</max>` : ''}${isConst ? '<const/>' : ''}`
    if (limit) limits.push(`<${name}>${limit}</${name}>`)
  }
  return `<${user}>${values.join('')}<constraints>${limits.join('')}</constraints></${user}>`
}
