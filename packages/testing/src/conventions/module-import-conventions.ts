import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The workspace packages that each workspace may import. */
const packages: Record<string, string[]> = {
  'packages/contracts': [],
  'packages/client': [],
  'packages/process': [],
  'packages/database': ['contracts', 'process'],
  'packages/http-client': ['process'],
  'packages/http-server': ['contracts', 'http-client', 'process'],
  'packages/records': ['contracts', 'database', 'http-server'],
  'packages/row-stream': ['contracts'],
  'packages/file-formats': ['contracts', 'row-stream'],
  'packages/connectors': ['contracts', 'database', 'file-formats', 'http-client', 'process', 'row-stream'],
  'packages/warehouses': ['contracts', 'database', 'process', 'row-stream'],
  'packages/mail': ['process'],
  'packages/testing': ['contracts', 'database', 'http-server'],
  'apps/identity': ['contracts', 'process', 'database', 'http-client', 'http-server', 'records', 'mail'],
  'apps/pipeline': [
    'client',
    'contracts',
    'process',
    'database',
    'http-client',
    'http-server',
    'records',
    'mail',
  ].concat(['row-stream', 'file-formats', 'connectors', 'warehouses']),
}

/** Returns the files at the top of the pipeline service's source folder, and these modules. */
function pipelineModules(...names: string[]): string[] {
  return ['apps/pipeline/src', ...names.map((name) => `apps/pipeline/src/${name}`)]
}

function identityModules(...names: string[]): string[] {
  return ['apps/identity/src', ...names.map((name) => `apps/identity/src/${name}`)]
}

const signInModules = [
  'sign-in',
  ...['federated', 'password', 'second-factor', 'sessions', 'throttle', 'tokens'].map((name) => `sign-in/${name}`),
]

/** The modules that each module of an app may import. A file belongs to the module with the longest matching path. */
const modules: Record<string, string[]> = {
  'apps/identity/src/api': identityModules('email', 'openid-provider', 'pages', ...signInModules),
  'apps/identity/src/sign-in/throttle': identityModules('sign-in'),
  'apps/identity/src/sign-in/tokens': identityModules(),
  'apps/identity/src/sign-in/second-factor': identityModules(),
  'apps/identity/src/sign-in/sessions': identityModules('sign-in/second-factor', 'sign-in/throttle', 'sign-in/tokens'),
  'apps/identity/src/sign-in/password': identityModules(
    'email',
    'sign-in',
    'sign-in/second-factor',
    'sign-in/sessions',
    'sign-in/throttle',
    'sign-in/tokens',
  ),
  'apps/identity/src/sign-in/federated': identityModules('sign-in/sessions', 'sign-in/throttle'),
  'apps/identity/src/openid-provider': identityModules('pages', ...signInModules),
  'apps/identity/src/pages': identityModules('sign-in/sessions'),
  'apps/identity/src/pages/account': identityModules('pages', 'api', ...signInModules),
  'apps/identity/src/email': identityModules(),
  'apps/identity/src/maintenance': identityModules('email', 'openid-provider', ...signInModules),
  'apps/pipeline/src/api': pipelineModules(
    'identity',
    'files',
    'queue',
    'runs',
    'run-lifecycle',
    'deleted-tables',
    'schedules',
    'workflows',
    'variables',
    'secrets',
    'problems',
    'quality-checks',
    'views',
    'destinations',
    'warehouses',
    'erasure',
  ),
  'apps/pipeline/src/identity': ['apps/pipeline/src'],
  'apps/pipeline/src/files': pipelineModules('problems'),
  'apps/pipeline/src/secrets': ['apps/pipeline/src'],
  'apps/pipeline/src/problems': pipelineModules('variables'),
  'apps/pipeline/src/queue': pipelineModules('runs'),
  'apps/pipeline/src/runs': pipelineModules('queue', 'alerts', 'views', 'workflows', 'files', 'secrets'),
  'apps/pipeline/src/run-lifecycle': pipelineModules('queue', 'runs', 'alerts', 'views', 'workflows'),
  'apps/pipeline/src/alerts': pipelineModules('runs', 'problems'),
  'apps/pipeline/src/schedules': pipelineModules('queue', 'runs', 'run-lifecycle', 'workflows'),
  'apps/pipeline/src/workflows': pipelineModules('queue', 'runs', 'run-lifecycle'),
  'apps/pipeline/src/variables': pipelineModules('secrets'),
  'apps/pipeline/src/quality-checks': pipelineModules('runs', 'run-lifecycle', 'variables', 'secrets'),
  'apps/pipeline/src/views': pipelineModules('runs', 'variables', 'deleted-tables'),
  'apps/pipeline/src/destinations': pipelineModules('runs', 'variables', 'secrets'),
  'apps/pipeline/src/warehouses': ['apps/pipeline/src'],
  'apps/pipeline/src/erasure': pipelineModules('files', 'warehouses'),
  'apps/pipeline/src/deleted-tables': pipelineModules('warehouses'),
  'apps/pipeline/src/worker': pipelineModules(
    'queue',
    'runs',
    'run-lifecycle',
    'deleted-tables',
    'alerts',
    'schedules',
    'workflows',
    'variables',
    'secrets',
    'quality-checks',
    'views',
    'destinations',
    'warehouses',
    'erasure',
    'files',
    'identity',
  ),
}

/** Drivers, and the only modules that may import them. */
const drivers: Record<string, string | string[]> = {
  mysql2: 'packages/connectors/src/mysql/',
  mssql: 'packages/connectors/src/sql-server/',
  oracledb: 'packages/connectors/src/oracle/',
  tedious: 'packages/warehouses/src/tsql/',
  '@clickhouse/client': 'packages/warehouses/src/clickhouse/',
  hyparquet: 'packages/file-formats/src/parquet/',
  'hyparquet-compressors': 'packages/file-formats/src/parquet/',
  yauzl: 'packages/file-formats/src/archive/',
  aws4fetch: ['packages/connectors/src/function/', 'packages/warehouses/src/redshift/', 'packages/testing/'],
  'oidc-provider': 'apps/identity/src/openid-provider/',
  'openid-client': 'apps/identity/src/sign-in/federated/',
  '@node-rs/argon2': 'apps/identity/src/sign-in/password/password-hashing.ts',
  otpauth: 'apps/identity/src/sign-in/second-factor/',
  uqr: 'apps/identity/src/sign-in/second-factor/',
  nodemailer: 'packages/mail/',
  'cron-parser': 'apps/pipeline/src/schedules/',
  '@fastify/busboy': 'packages/http-server/',
  undici: 'packages/http-client/',
  'ipaddr.js': 'packages/http-client/',
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
  // Type-only imports are always allowed.
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
