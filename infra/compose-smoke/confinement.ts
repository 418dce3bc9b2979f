import { ok, strictEqual } from 'node:assert'
import { databases, oneShots, services, type Container, type Stack } from './compose-project.ts'

/**
 * Throws if the configuration or the processes of a container have root, capabilities or a writable root file system.
 */
export const assertContainersConfined = async (stack: Stack): Promise<void> => {
  const containers = await stack.containers()
  for (const service of [...databases, ...services, ...oneShots]) {
    const container = containers.get(service)
    ok(container !== undefined, `${service} has no container`)
    assertContainerConfiguration(service, container)
  }
  for (const service of [...databases, ...services]) await assertProcessesUnprivileged(stack, service)
  for (const database of databases) await assertOrdinaryRole(stack, database)
}

const assertContainerConfiguration = (service: string, { Config, HostConfig }: Container): void => {
  const isLongRunning = !(oneShots as readonly string[]).includes(service)
  ok(/^[1-9]\d*:[1-9]\d*$/.test(Config.User), `${service} runs as "${Config.User}"`)
  ok(HostConfig.ReadonlyRootfs, `${service} can write its root file system`)
  ok(!HostConfig.Privileged && (HostConfig.CapAdd ?? []).length === 0, `${service} has capabilities`)
  ok(HostConfig.CapDrop?.includes('ALL') === true, `${service} keeps capabilities`)
  ok(
    HostConfig.SecurityOpt?.some((option) => option.startsWith('no-new-privileges')),
    `${service} may gain privileges`,
  )
  ok(HostConfig.Memory > 0, `${service} has no memory limit`)
  ok(HostConfig.LogConfig.Config['max-size'] !== undefined, `${service}'s log grows without end`)
  strictEqual(HostConfig.RestartPolicy.Name, isLongRunning ? 'unless-stopped' : 'no', `restart policy of ${service}`)
}

/** Checks the users and capabilities of all processes in a container, and that files cannot be created. */
const assertProcessesUnprivileged = async (stack: Stack, service: string): Promise<void> => {
  const status = await stack.execute(service, 'sh', '-c', 'cat /proc/[0-9]*/status 2>/dev/null || true')
  const users = [...status.matchAll(/^Uid:\s+(.*)$/gm)].flatMap((match) => (match[1] ?? '').split(/\s+/))
  const capabilities = [...status.matchAll(/^Cap(?:Prm|Eff|Bnd):\s+(.*)$/gm)].map((match) => match[1])
  ok(users.length > 0 && !users.includes('0'), `${service} has a process of root`)
  ok(
    capabilities.every((set) => /^0+$/.test(set ?? '')),
    `${service} has a process with capabilities`,
  )
  for (const folder of ['/', '/usr/local/bin', '/run/secrets']) {
    const output = await stack.execute(service, 'sh', '-c', `touch ${folder}/probe 2>/dev/null && echo wrote || true`)
    strictEqual(output, '', `${service} can write to ${folder}`)
  }
}

/** The application's role owns its database without being a superuser, and no other role can connect. */
const assertOrdinaryRole = async (stack: Stack, database: string): Promise<void> => {
  const role = database.replace('-db', '')
  const sql = `SELECT rolsuper, rolbypassrls, rolreplication, datdba = pg_roles.oid,
      coalesce((SELECT bool_or(grantee = 0 AND privilege_type = 'CONNECT') FROM aclexplode(datacl)), true)
    FROM pg_roles JOIN pg_database ON datname = rolname WHERE rolname = '${role}'`
  const output = await stack.execute(
    database,
    'psql',
    '--username=postgres',
    '--no-align',
    '--tuples-only',
    '--command',
    sql,
  )
  strictEqual(output.trim(), 'f|f|f|t|f', `the role ${role}`)
}
