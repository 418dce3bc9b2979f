import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The npm package of ClickHouse 26.7 as a shared library. It has 0.5 GB. */
export const clickhousePackage = 'chdb@3.4.0'

const { platform, arch } = process
const pathInPackageFolder = `node_modules/@chdb/lib-${platform}-${arch}${platform === 'linux' ? '-gnu' : ''}/libchdb.so`

/** Returns the path of the library for a folder of installed test programs. */
export const clickhouseLibraryPath = (folder: string): string =>
  join(folder, clickhousePackage.replace('@', '-'), pathInPackageFolder)

/** Returns why the library in `folder` cannot be started; undefined if it can. */
export function describeMissingClickhouse(folder: string): string | undefined {
  if (!existsSync(clickhouseLibraryPath(folder)))
    return 'ClickHouse is not installed; `SLUICE_TEST_CLICKHOUSE=1 npm test` and `npm run clickhouse` install it'
  const { status } = spawnSync('python3', ['-c', 'import ctypes'])
  return status === 0 ? undefined : 'python3, which loads the ClickHouse library, is not installed'
}
