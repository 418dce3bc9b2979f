import { spawn } from 'node:child_process'
import { access, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explainFailure } from './explain-failure.ts'
import type { OsUser } from './os-user.ts'
import { cleanEnvironment } from './clean-environment.ts'
import type { PostgresFolders } from './accessible-folders.ts'

/** The superuser of an embedded cluster. */
export const SUPERUSER = 'postgres'

/**
 * Creates a PostgreSQL cluster in the data folder, unless it contains one. UTF-8 with the built-in C.UTF-8 collation
 * has the same order on every machine, and C library updates do not break its indexes. The cluster is created in a
 * temporary folder that is renamed at the end, so a killed initdb leaves no incomplete cluster. Every connection needs
 * a password (scram-sha-256), local ones too.
 */
export const initialiseCluster = async (
  folders: PostgresFolders,
  password: string,
  user: OsUser | undefined,
  sync: boolean,
): Promise<string> => {
  const cluster = join(folders.data, 'cluster')
  if (
    await access(join(cluster, 'PG_VERSION')).then(
      () => true,
      () => false,
    )
  )
    return cluster
  const draft = join(folders.data, 'unfinished')
  await rm(draft, { recursive: true, force: true })
  const passwordFolder = await mkdtemp(join(tmpdir(), 'sluice-initdb-'))
  try {
    await writeFile(join(passwordFolder, 'password'), `${password}\n`, { mode: 0o600 })
    if (user)
      for (const path of [passwordFolder, join(passwordFolder, 'password')]) await chown(path, user.uid, user.gid)
    await mkdir(folders.data, { recursive: true })
    const credentials = ['-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${join(passwordFolder, 'password')}`]
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const args = ['-D', draft, ...credentials, ...locale, '--no-instructions', ...(sync ? [] : ['--no-sync'])]
    await runInitdb(join(folders.programs, 'bin/initdb'), args, user)
  } finally {
    await rm(passwordFolder, { recursive: true, force: true })
  }
  await rename(draft, cluster)
  return cluster
}

const runInitdb = async (program: string, args: string[], user: OsUser | undefined): Promise<void> => {
  const child = spawn(program, args, {
    ...(user && { uid: user.uid, gid: user.gid }),
    env: cleanEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text))
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  ).catch((error: NodeJS.ErrnoException) => {
    errorOutput += error.message
    return null
  })
  if (code !== 0) throw explainFailure('initdb', errorOutput)
}
