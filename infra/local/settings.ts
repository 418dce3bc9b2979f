import { join } from 'node:path'
import { UserError } from '../user-error.ts'

/** Folders, ports and addresses of this start. */
export type Settings = {
  /** The folder of all data. */
  state: string
  /** The checkout. */
  root: string
  ports: Ports
  listenHost: string
  identityPublicUrl: string
  pipelinePublicUrl: string
  /** The host, and perhaps the port, at which readers of the warehouse connect from other machines. */
  warehouseAddress?: { host: string; port?: number } | undefined
}

export type Ports = { IDENTITY_PORT: number; PIPELINE_PORT: number; WORKER_PORT: number }

const DEFAULTS: Ports = { IDENTITY_PORT: 3001, PIPELINE_PORT: 3002, WORKER_PORT: 3003 }

/** Reads the environment. Throws UserError with one sentence about the first invalid setting. */
export const readSettings = (environment: NodeJS.ProcessEnv, root: string, state: string): Settings => {
  const ports = { ...DEFAULTS }
  for (const name of Object.keys(DEFAULTS) as (keyof Ports)[]) {
    const value = environment[name]
    if (value) ports[name] = parsePort(name, value)
  }
  const duplicate = Object.values(ports).find((port, index, all) => all.indexOf(port) !== index)
  if (duplicate)
    throw new UserError(`IDENTITY_PORT, PIPELINE_PORT and WORKER_PORT must differ; ${duplicate} is set twice.`)
  return {
    state,
    root,
    ports,
    listenHost: environment['LISTEN_HOST'] || '127.0.0.1',
    identityPublicUrl: environment['IDENTITY_PUBLIC_URL'] || `http://localhost:${ports.IDENTITY_PORT}`,
    warehouseAddress: parseWarehouseAddress(environment['WAREHOUSE_PUBLIC_ADDRESS']?.trim()),
    pipelinePublicUrl: environment['PIPELINE_PUBLIC_URL'] || `http://localhost:${ports.PIPELINE_PORT}`,
  }
}

const parseWarehouseAddress = (value: string | undefined): Settings['warehouseAddress'] => {
  if (!value) return undefined
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(\d+))?$/i.exec(value) ?? []
  if (host === undefined)
    throw new UserError(
      `WAREHOUSE_PUBLIC_ADDRESS must be a host or host:port, such as data.example.org, not "${value}".`,
    )
  return {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    ...(port !== undefined && { port: parsePort('WAREHOUSE_PUBLIC_ADDRESS', port) }),
  }
}

const parsePort = (name: string, value: string): number => {
  const port = Number(value)
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw new UserError(`${name} must be a port from 1 to 65535, not "${value}".`)
}

export const certificatesFolder = ({ state }: Settings): string => join(state, 'certificates')

export const logFile = ({ state }: Settings, name: string): string => join(state, 'logs', `${name}.log`)

/** Returns the loopback address that reaches a server on the listen host. */
export const loopbackAddress = ({ listenHost }: Settings): string =>
  ['0.0.0.0', '::', '*'].includes(listenHost) ? '127.0.0.1' : listenHost.includes(':') ? `[${listenHost}]` : listenHost
