import { SourceProblem } from '../../source.ts'

const full = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** The problem that an error of writing stands for, where it says that there is no room. */
export function diskProblem(error: unknown): SourceProblem | undefined {
  if (!full.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
  const text =
    'The disk of the service is full, so the upload could not be unpacked; an operator has to make room where FILES_DIRECTORY is.'
  return new SourceProblem('DISK_FULL', text, { cause: error })
}
