import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs a server of CouchDB's protocol that the suite of the Community Health Toolkit asks beside its stand-in, into a folder that is
 * no part of the repository: `node infra/couchdb/install.ts`. The feed of changes needs Express 4.
 */
const dependencies = {
  express: '4.21.2',
  'express-pouchdb': '4.2.0',
  pouchdb: '9.0.0',
  'pouchdb-adapter-memory': '9.0.0',
}
const folder = join(import.meta.dirname, '../../.sluice/couchdb')

mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`)
const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
  cwd: folder,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
