import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** ClickHouse 26.7 as a library, half a gigabyte. */
export const clickhousePackage = 'chdb@3.4.0'

const { platform, arch } = process
const inside = `node_modules/@chdb/lib-${platform}-${arch}${platform === 'linux' ? '-gnu' : ''}/libchdb.so`

/** The library where packages were installed into `folder`. */
export const libraryIn = (folder: string): string => join(folder, clickhousePackage.replace('@', '-'), inside)

/** Returns why the library in `folder` cannot be started; undefined if it can. */
export function clickhouseMissing(folder: string): string | undefined {
  if (!existsSync(libraryIn(folder)))
    return 'ClickHouse is not installed, which `SLUICE_TEST_CLICKHOUSE=1 npm test` and `npm run clickhouse` do where they can'
  const { status } = spawnSync('python3', ['-c', 'import ctypes'])
  return status === 0 ? undefined : 'ClickHouse’s library is started by python3, which is not there'
}
