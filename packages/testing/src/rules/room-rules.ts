import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Which workspace packages a workspace may name. */
const packages: Record<string, string[]> = {
  'packages/contracts': [],
  'packages/client': ['contracts'],
  'packages/process': [],
  'packages/database': ['contracts', 'process'],
  'packages/http': ['contracts', 'process'],
  'packages/records': ['contracts', 'database', 'http'],
  'packages/delimited': ['contracts'],
  'packages/tuples': ['contracts'],
  'packages/mail': ['process'],
  'packages/testing': ['contracts', 'database', 'http'],
  'apps/identity': ['contracts', 'process', 'database', 'http', 'records', 'mail'],
  'apps/pipeline': ['client', 'contracts', 'process', 'database', 'http', 'records', 'delimited', 'tuples', 'mail'],
}

/** The modules that each module of an app may import. A file belongs to the module with the longest matching path. */
const modules: Record<string, string[]> = {
  'apps/identity/src/api': ['apps/identity/src'].concat(
    ['sign-in', 'sign-in/federated', 'sign-in/second-factor', 'mail', 'oidc', 'pages'].map(
      (module) => `apps/identity/src/${module}`,
    ),
  ),
  'apps/identity/src/sign-in': ['apps/identity/src'].concat(
    ['sign-in/second-factor', 'mail', 'housekeeping'].map((module) => `apps/identity/src/${module}`),
  ),
  'apps/identity/src/sign-in/federated': ['apps/identity/src', 'apps/identity/src/sign-in'],
  'apps/identity/src/sign-in/second-factor': ['apps/identity/src'],
  'apps/identity/src/oidc': ['apps/identity/src'].concat(
    ['pages', 'sign-in', 'sign-in/federated'].map((module) => `apps/identity/src/${module}`),
  ),
  'apps/identity/src/pages': ['apps/identity/src', 'apps/identity/src/sign-in'],
  'apps/identity/src/page-routes': ['apps/identity/src'].concat(
    ['pages', 'api', 'sign-in'].map((module) => `apps/identity/src/${module}`),
  ),
  'apps/identity/src/mail': ['apps/identity/src'],
  'apps/pipeline/src/api': [
    'apps/pipeline/src',
    'apps/pipeline/src/identity',
    'apps/pipeline/src/files',
    'apps/pipeline/src/engine/queue',
    'apps/pipeline/src/engine/runs',
    'apps/pipeline/src/engine/drops',
    'apps/pipeline/src/engine/schedules',
    'apps/pipeline/src/engine/workflows',
    'apps/pipeline/src/engine/variables',
    'apps/pipeline/src/engine/quality',
    'apps/pipeline/src/engine/views',
    'apps/pipeline/src/engine/destinations',
    'apps/pipeline/src/engine/datasets',
    'apps/pipeline/src/engine/erasure',
  ],
  'apps/pipeline/src/identity': ['apps/pipeline/src'],
  'apps/pipeline/src/files': [],
  'apps/pipeline/src/engine/queue': ['apps/pipeline/src', 'apps/pipeline/src/engine/runs'],
  // Each module defines how it reacts to the end of a run.
  'apps/pipeline/src/engine/runs': ['apps/pipeline/src'].concat(
    ['queue', 'alerts', 'views', 'workflows'].map((module) => `apps/pipeline/src/engine/${module}`),
    'apps/pipeline/src/files',
  ),
  'apps/pipeline/src/engine/alerts': ['apps/pipeline/src', 'apps/pipeline/src/engine/runs'],
  'apps/pipeline/src/engine/schedules': ['apps/pipeline/src'].concat(
    ['queue', 'runs', 'workflows'].map((module) => `apps/pipeline/src/engine/${module}`),
  ),
  'apps/pipeline/src/engine/workflows': ['apps/pipeline/src'].concat(
    ['queue', 'runs'].map((module) => `apps/pipeline/src/engine/${module}`),
  ),
  'apps/pipeline/src/engine/variables': ['apps/pipeline/src'],
  'apps/pipeline/src/engine/quality': ['apps/pipeline/src'].concat(
    ['runs', 'variables', 'warehouses'].map((module) => `apps/pipeline/src/engine/${module}`),
  ),
  'apps/pipeline/src/engine/views': ['apps/pipeline/src'].concat(
    ['runs', 'variables', 'warehouses'].map((module) => `apps/pipeline/src/engine/${module}`),
  ),
  'apps/pipeline/src/engine/destinations': ['apps/pipeline/src'].concat(
    ['runs', 'variables', 'warehouses', 'dhis2'].map((module) => `apps/pipeline/src/engine/${module}`),
  ),
  // DHIS2 client code of sources and destinations.
  'apps/pipeline/src/engine/dhis2': [],
  'apps/pipeline/src/engine/datasets': ['apps/pipeline/src'].concat(
    ['sources', 'loads', 'warehouses'].map((module) => `apps/pipeline/src/engine/${module}`),
  ),
  'apps/pipeline/src/engine/sources': [
    'apps/pipeline/src',
    'apps/pipeline/src/files',
    'apps/pipeline/src/engine/dhis2',
  ],
  'apps/pipeline/src/engine/loads': [
    'apps/pipeline/src',
    'apps/pipeline/src/engine/sources',
    'apps/pipeline/src/engine/warehouses',
  ],
  'apps/pipeline/src/engine/warehouses': ['apps/pipeline/src'],
  'apps/pipeline/src/engine/erasure': ['apps/pipeline/src', 'apps/pipeline/src/files'],
  'apps/pipeline/src/engine/drops': ['apps/pipeline/src', 'apps/pipeline/src/engine/warehouses'],
  'apps/pipeline/src/engine/worker': ['apps/pipeline/src'].concat(
    ['queue', 'runs', 'sources', 'loads', 'warehouses', 'drops', 'alerts', 'schedules', 'workflows', 'variables']
      .concat('quality', 'views', 'destinations', 'datasets', 'erasure')
      .map((module) => `apps/pipeline/src/engine/${module}`),
    'apps/pipeline/src/files',
    'apps/pipeline/src/identity',
  ),
}

/** Drivers that only these modules may import. */
const drivers: Record<string, string | string[]> = {
  mysql2: 'apps/pipeline/src/engine/sources/databases/mysql/',
  mssql: 'apps/pipeline/src/engine/sources/databases/sql-server/',
  tedious: 'apps/pipeline/src/engine/warehouses/tsql/',
  '@clickhouse/client': 'apps/pipeline/src/engine/warehouses/clickhouse/',
  oracledb: 'apps/pipeline/src/engine/sources/databases/oracle/',
  hyparquet: 'apps/pipeline/src/engine/sources/files/parquet/',
  'hyparquet-compressors': 'apps/pipeline/src/engine/sources/files/parquet/',
  yauzl: 'apps/pipeline/src/engine/sources/files/',
  aws4fetch: ['sources/objects/s3/', 'sources/systems/function/', 'warehouses/redshift/'].map(
    (module) => `apps/pipeline/src/engine/${module}`,
  ),
  'oidc-provider': 'apps/identity/src/oidc/',
  'openid-client': 'apps/identity/src/sign-in/federated/',
  '@node-rs/argon2': 'apps/identity/src/sign-in/password.ts',
  otpauth: 'apps/identity/src/sign-in/second-factor/',
  uqr: 'apps/identity/src/sign-in/second-factor/',
  nodemailer: 'packages/mail/',
  'cron-parser': 'apps/pipeline/src/engine/schedules/',
  '@fastify/busboy': 'packages/http/',
  undici: 'packages/http/',
  'ipaddr.js': 'packages/http/',
}

/** Returns a sentence for every forbidden import. `root` is the repository's folder. */
export function brokenModuleRules(root: string): string[] {
  const files = globSync(['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'], { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts') && !file.includes('/test/'),
  )
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const imports = [...text.matchAll(/^(import|export)( type)? [^;]*?from '([^']+)'|^import '([^']+)'/gm)]
    return [
      ...imports.flatMap(([, , typeOnly, from, bare]) =>
        forbiddenImports(file, from ?? bare ?? '', typeOnly !== undefined),
      ),
      ...(/process\.env/.test(text) && !/\/config\.ts$|packages\/testing\//.test(file)
        ? [`${file}: only config.ts reads the environment`]
        : []),
    ]
  })
}

function forbiddenImports(file: string, to: string, typeOnly: boolean): string[] {
  const workspace = file.split('/').slice(0, 2).join('/')
  const refused = [`${file}: may not import ${to}`]
  if (to.startsWith('@sluice/')) return packages[workspace]?.includes(to.split('/')[1]!) ? [] : refused
  if (!to.startsWith('.')) {
    const name = to
      .split('/')
      .slice(0, to.startsWith('@') ? 2 : 1)
      .join('/')
    const home = drivers[name]
    return home === undefined || [home].flat().some((module) => file.startsWith(module)) ? [] : refused
  }
  const target = normalize(join(dirname(file), to))
  if (!target.startsWith(`${workspace}/`)) return refused
  // Type imports are always allowed.
  if (typeOnly) return []
  const [from, there] = [moduleOf(file), moduleOf(target)]
  return from === there ||
    from === undefined ||
    there === undefined ||
    modules[from]!.some((module) => module === there || dirname(target) === module)
    ? []
    : refused
}

const moduleOf = (file: string) =>
  Object.keys(modules)
    .toSorted((a, b) => b.length - a.length)
    .find((module) => file.startsWith(`${module}/`))
