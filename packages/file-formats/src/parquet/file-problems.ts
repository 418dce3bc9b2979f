import { SourceProblem } from '@sluice/row-stream'

type FileProblemCode =
  | 'FILE_DAMAGED'
  | 'FILE_EMPTY'
  | 'NOT_PARQUET'
  | 'PARQUET_ENCRYPTED'
  | 'PARQUET_NOT_SUPPORTED'
  | 'FILE_TOO_DENSE'

/**
 * A problem of the file, thrown where its name is not known. `message` follows the name of the file in a sentence, for
 * example "is encrypted."
 */
export class FileProblem extends Error {
  override readonly name = 'FileProblem'
  readonly code: FileProblemCode

  constructor(code: FileProblemCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  toSourceProblem(fileName: string): SourceProblem {
    return new SourceProblem(this.code, `${fileName} ${this.message}`, { cause: this.cause })
  }
}

/** Returns the problem for a damaged file. `location` names the part of the file that cannot be read. */
export function damagedFileProblem(location: string, cause?: unknown): FileProblem {
  const detail = cause instanceof Error && !(cause instanceof TypeError) ? ` (${cause.message})` : ''
  return new FileProblem(
    'FILE_DAMAGED',
    `is damaged: ${location} cannot be read${detail}. Upload the file again, or write it again.`,
    { cause },
  )
}
