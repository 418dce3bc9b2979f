import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs the ClickHouse that the warehouse suite runs against, half a gigabyte, into a folder that is not part of the repository.
 * Its version is that of ClickHouse 26.7.
 */
const version = '3.4.0'
const folder = join(import.meta.dirname, '../../.sluice/clickhouse')

mkdirSync(folder, { recursive: true })
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify({ private: true, dependencies: { chdb: version } }, null, 2)}\n`,
)
const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
  cwd: folder,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
