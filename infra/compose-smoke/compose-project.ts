import { join } from 'node:path'
import { root } from '../paths.ts'
import { freePort } from '../postgres/free-port.ts'
import { run } from './run-command.ts'

/** The fields of `docker inspect` that the checks read. */
export type Container = {
  Id: string
  RestartCount: number
  State: { Status: string; StartedAt: string; ExitCode: number; Pid: number; Health?: { Status: string } }
  Config: { User: string; Labels: Record<string, string> }
  HostConfig: {
    ReadonlyRootfs: boolean
    Privileged: boolean
    CapAdd: string[] | null
    CapDrop: string[] | null
    SecurityOpt: string[] | null
    Memory: number
    RestartPolicy: { Name: string }
    LogConfig: { Config: Record<string, string> }
  }
  NetworkSettings: {
    Ports: Record<string, { HostIp: string; HostPort: string }[] | null>
    Networks: Record<string, { IPAddress: string }>
  }
}

/** The compose project under test. Its name, ports, volumes and image tag are unique on this machine. */
export type Stack = {
  identityUrl: string
  pipelineUrl: string
  image: (name: string) => string
  volume: (name: string) => string
  docker: (args: string[], seconds?: number) => Promise<string>
  compose: (args: string[], seconds?: number) => Promise<string>
  /** Returns all containers of the project by service, including those that have ended. */
  containers: () => Promise<Map<string, Container>>
  /** Runs a command in the running container of a service. */
  execute: (service: string, ...command: string[]) => Promise<string>
}

export const services = ['identity', 'pipeline', 'pipeline-worker'] as const
export const databases = ['identity-db', 'pipeline-db', 'warehouse-db'] as const
export const oneShots = ['secrets', 'identity-setup', 'pipeline-setup', 'warehouse-setup'] as const

export const images = ['secrets', 'identity', 'pipeline', ...databases] as const

/** Returns the stack of this process, with free ports. `signal` aborts its running commands. */
export const describeStack = async (signal?: AbortSignal): Promise<Stack> => {
  const project = `sluice-smoke-${process.pid}`
  const identityPort = await freePort(13001)
  const pipelinePort = await freePort(identityPort + 1)
  const env = {
    ...dockerEnvironment(),
    IDENTITY_PORT: String(identityPort),
    PIPELINE_PORT: String(pipelinePort),
    SLUICE_IMAGE_TAG: project,
  }
  const docker = (args: string[], seconds = 120): Promise<string> => run('docker', args, { env, seconds, signal })
  const files = ['--project-directory', root, '--file', join(root, 'docker-compose.yml'), '--env-file', '/dev/null']
  const compose = (args: string[], seconds?: number): Promise<string> =>
    docker(['compose', '--project-name', project, ...files, ...args], seconds)

  return {
    identityUrl: `http://127.0.0.1:${identityPort}`,
    pipelineUrl: `http://127.0.0.1:${pipelinePort}`,
    image: (name) => `sluice-${name}:${project}`,
    volume: (name) => `${project}_${name}`,
    docker,
    compose,
    containers: async () => {
      const ids = await docker(['ps', '--all', '--quiet', '--filter', `label=com.docker.compose.project=${project}`])
      const found: Container[] = JSON.parse(await docker(['inspect', ...ids.trim().split('\n')]))
      return new Map(found.map((container) => [container.Config.Labels['com.docker.compose.service'] ?? '', container]))
    },
    execute: (service, ...command) => compose(['exec', '--no-TTY', service, ...command]),
  }
}

/**
 * Returns the environment variables that docker needs, without settings of Sluice, because the test covers the
 * defaults.
 */
const dockerEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^(PATH|HOME|USERPROFILE|XDG_\w+|DOCKER_\w+|BUILDKIT_\w+)$/.test(name),
    ),
  )
