import { UserError } from '../user-error.ts'

/** System libraries that PostgreSQL's programs need, and their Debian packages. */
const PACKAGES: [RegExp, string][] = [
  [/^libstdc\+\+/, 'libstdc++6'],
  [/^libgcc_s/, 'libgcc-s1'],
  [/^(libc|libm|libpthread|librt|libdl|ld-linux)\b/, 'libc6'],
  [/^libxml2/, 'libxml2'],
  [/^libssl|^libcrypto/, 'libssl3'],
  [/^libz\b/, 'zlib1g'],
  [/^liblzma/, 'liblzma5'],
]

/** Turns the output of a failed PostgreSQL program into a message that says what to do. */
export const explainFailure = (program: string, output: string): UserError => {
  const library = /shared librar(?:y|ies): (\S+?):/.exec(output)?.[1]
  if (library) {
    const debian = PACKAGES.find(([pattern]) => pattern.test(library))?.[1] ?? `the package that contains ${library}`
    return new UserError(
      `PostgreSQL needs the library ${library}. Install it ("apt-get install ${debian}" on Debian and Ubuntu).`,
    )
  }
  if (/ENOENT/.test(output) && process.platform === 'linux') {
    return new UserError(
      'PostgreSQL from npm needs glibc, which this system (Alpine?) does not have. Use "docker compose up" here.',
    )
  }
  if (/No space left on device/.test(output)) return new UserError('The disk is full. Free some space and start again.')
  if (/could not create shared memory|could not resize shared memory/.test(output)) {
    return new UserError(
      'PostgreSQL found too little shared memory. Give /dev/shm at least 64 MB (docker run --shm-size=256m).',
    )
  }
  // The version is in a DETAIL line, which the log leaves out (log_error_verbosity).
  if (/database files are incompatible with server/.test(output)) {
    return new UserError(
      'The data folder belongs to another version of PostgreSQL (see its file PG_VERSION). Dump it with that version, or move it away.',
    )
  }
  const lastLines = output.trim().split('\n').slice(-6).join('\n  ')
  return new UserError(`PostgreSQL (${program}) could not start. Its last output:\n  ${lastLines || 'none'}`)
}
