import { join } from 'node:path'
import type { Databases } from './databases.ts'
import type { Secrets } from './secrets.ts'
import { certificateFiles } from '../postgres/certificates.ts'
import { certificatesFolder, loopbackAddress, type Settings } from './settings.ts'

/** Memory settings of Node and the C library, the same as in the images (infra/images/Dockerfile). */
export const memorySettings = {
  // A small young generation keeps a service below 150 MB after load. Loads create few objects.
  NODE_OPTIONS: '--max-semi-space-size=2 --v8-pool-size=1',
  // One heap for all threads, and buffers that return to the system: a worker needs 20 MB less while it loads.
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
}

/** Returns the settings with the warehouse address for readers. Its default port is that of the local PostgreSQL. */
const readerSettings = (settings: Settings, databases: Databases): NodeJS.ProcessEnv => {
  if (!settings.warehouseAddress) return {}
  const { host, port = new URL(databases.warehouse).port } = settings.warehouseAddress
  return {
    WAREHOUSE_PUBLIC_ADDRESS: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    WAREHOUSE_PUBLIC_CERTIFICATE_FILE: join(certificatesFolder(settings), certificateFiles.authority),
  }
}

/** Returns the environment of the programs of apps/<app>/bin: the environment of this process and their settings. */
export const programEnvironment = (
  settings: Settings,
  secrets: Secrets,
  databases: Databases,
  rulesFile?: string,
): NodeJS.ProcessEnv => {
  const { SLUICE_ADMIN_PASSWORD: _, ...inherited } = process.env
  const { IDENTITY_PORT, PIPELINE_PORT, WORKER_PORT } = settings.ports
  return {
    ...inherited,
    ...memorySettings,
    NODE_OPTIONS: [inherited.NODE_OPTIONS, memorySettings.NODE_OPTIONS].filter(Boolean).join(' '),
    // Compiled sources are cached: the second start is faster, and each process needs 25 MB less memory.
    NODE_COMPILE_CACHE: join(settings.state, 'compiled'),
    IDENTITY_PORT: String(IDENTITY_PORT),
    PIPELINE_PORT: String(PIPELINE_PORT),
    WORKER_PORT: String(WORKER_PORT),
    LISTEN_HOST: settings.listenHost,
    IDENTITY_DATABASE_URL: databases.identity,
    PIPELINE_DATABASE_URL: databases.pipeline,
    WAREHOUSE_DATABASE_URL: databases.warehouse,
    ...(rulesFile !== undefined && { WAREHOUSE_HBA_INCLUDE: rulesFile }),
    ...readerSettings(settings, databases),
    // Everything runs on one machine, so requests of users get priority over loads and queries.
    WAREHOUSE_NICENESS: inherited.WAREHOUSE_NICENESS ?? '10',
    IDENTITY_URL: `http://${loopbackAddress(settings)}:${IDENTITY_PORT}`,
    IDENTITY_PUBLIC_URL: settings.identityPublicUrl,
    PIPELINE_PUBLIC_URL: settings.pipelinePublicUrl,
    SECRET_KEYS: secrets.secretKeys,
    SERVICE_SECRET: secrets.serviceSecret,
    CONSOLE_SECRET: secrets.consoleSecret,
    FILES_DIRECTORY: join(settings.state, 'files'),
  }
}
