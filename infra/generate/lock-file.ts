/** The fields of package-lock.json that are used here. */
export type LockFile = { packages: Record<string, LockedPackage> }

type LockedPackage = {
  version?: string
  optional?: boolean
  dev?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

/**
 * Adds the builds for other platforms that `npm install` left out of a lock file, and returns their names. npm omits an
 * optional package that the registry does not have, and `npm ci` then rejects the file everywhere. The added entries
 * have no integrity hash; npm adds it when it installs them.
 */
export const addMissingPlatforms = (lock: LockFile): string[] => {
  const added: string[] = []
  for (const [path, parent] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const isLocked = lock.packages[`${path}/node_modules/${name}`] ?? lock.packages[`node_modules/${name}`]
      if (isLocked || !/^\d/.test(version)) continue
      const { os, cpu, libc } = parsePlatform(name)
      // The keys are in the order of npm, so that npm does not change the entry later.
      const dev = parent.dev && { dev: true }
      lock.packages[`node_modules/${name}`] = { version, cpu, ...dev, ...(libc && { libc }), optional: true, os }
      added.push(name)
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, 'en')))
  return added
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32']
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'x64']

/** Reads the platform of a build from its name: @oxlint/binding-linux-arm-musleabihf, @turbo/windows-64. */
const parsePlatform = (name: string): { os: string[]; cpu: string[]; libc: string[] | undefined } => {
  const nameParts = name.replace('windows', 'win32').replace(/-64$/, '-x64').split(/[/-]/)
  const [os, cpu] = [SYSTEMS, PROCESSORS].map((known) => nameParts.find((part) => known.includes(part)))
  if (!os || !cpu)
    throw new Error(
      `The name of the optional package ${name} contains no platform. Add the package to package-lock.json by hand.`,
    )
  const libc = nameParts.some((part) => part.startsWith('musl'))
    ? 'musl'
    : nameParts.some((part) => part.startsWith('gnu'))
      ? 'glibc'
      : undefined
  return { os: [os], cpu: [cpu], libc: libc && os === 'linux' ? [libc] : undefined }
}
